"""Handing a document in and taking it back: each becomes an event in the outbox and takes the same way as any other."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from ingestion.domain.errors import failure
from ingestion.domain.events import DOCUMENTS_TOPIC, EventType, document_key
from ingestion.domain.ids import new_id
from ingestion.models import Blob, Corpus, Document, DocumentPassword, Organisation, OutboxEvent, Source
from ingestion.seams import load
from ingestion.seams.seal import Seal
from ingestion.services.audit import audit_append
from ingestion.services.disk_room import no_room, room_assert


def source_ensure(organisation: Organisation, name: str) -> Source:
    """The registered producer of this name, for our own doors (upload, command line)."""
    source, _ = Source.objects.get_or_create(organisation=organisation, name=name)
    return source


def blob_store(organisation: Organisation, content: Path | bytes) -> Blob:
    """Keep the bytes once for each organisation. Raises `Permanent("too_large")` above the limit, `NoRoom` where a disk is full."""
    size = len(content) if isinstance(content, bytes) else content.stat().st_size
    limit = settings.PIPELINE["MAX_DOCUMENT_BYTES"]
    if size > limit:
        raise failure("too_large", f"{size} bytes; at most {limit} are taken")
    room_assert(size)
    digest = hashlib.sha256(content).hexdigest() if isinstance(content, bytes) else _sha256(content)
    with transaction.atomic():
        # the row first: it is the lock that a purge of the same bytes takes
        blob, _ = Blob.objects.update_or_create(
            organisation=organisation, sha256=digest, defaults={"touched_at": timezone.now()}, create_defaults={"bytes": size}
        )
        try:
            load("blobs").put(blob.key, content)
        except OSError as error:
            raise no_room(error) or error from error
    return blob


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def document_submit(
    *,
    organisation: Organisation,
    actor: str,
    corpus: Corpus,
    external_id: str,
    content: Path | bytes | Blob,
    file_name: str = "",
    title: str = "",
    allow: Iterable[str] | None = None,
    deny: Iterable[str] = (),
    keep_access: bool = False,
    source: str = "upload",
    password: str = "",
) -> UUID:
    """Hand in a document (new, or a new version of the same external id); returns the event's id.

    `allow` and `deny` are the document's whole list; with `keep_access` the list in force stays as it is. `password` opens an
    encrypted file; it is kept sealed beside the bytes and stands in no event, log or audit entry.
    Raises an `IngestionError` such as too_large; everything else is found, and said, by the pipeline.
    """
    blob = content if isinstance(content, Blob) else blob_store(organisation, content)
    data: dict[str, Any] = {
        "file_name": file_name[:500],
        "title": title[:500],
        "blob": {"sha256": blob.sha256, "bytes": blob.bytes},
    }
    if not keep_access:
        data["access"] = _access_data(allow, deny)
    with transaction.atomic():
        if password:
            password_keep(blob=blob, password=password)
        return _event_write(
            organisation=organisation, actor=actor, corpus=corpus, external_id=external_id, source=source,
            kind=EventType.UPDATED, data=data,
        )  # fmt: skip


def _access_data(allow: Iterable[str] | None, deny: Iterable[str]) -> dict[str, Any]:
    return {"allow": None if allow is None else sorted(allow), "deny": sorted(deny)}


@transaction.atomic
def password_keep(*, blob: Blob, password: str) -> None:
    """Keep the password of an encrypted file, sealed; one that has opened the file already stays."""
    seal: Seal = load("seal")
    known = DocumentPassword.objects.select_for_update().filter(blob=blob).first()
    if known is not None and known.proven_at is not None and DocumentPassword.objects.opened(blob, seal) is not None:
        return
    DocumentPassword.objects.update_or_create(
        blob=blob, defaults={"organisation_id": blob.organisation_id, "sealed": seal.close(password), "proven_at": None}
    )


def document_access_send(
    *, actor: str, corpus: Corpus, external_id: str, allow: Iterable[str] | None, deny: Iterable[str], source: str
) -> UUID:
    """Tell that a document's whole list is now this one; returns the event's id."""
    return _event_write(
        organisation=corpus.organisation, actor=actor, corpus=corpus, external_id=external_id, source=source,
        kind=EventType.ACCESS_CHANGED, data={"access": _access_data(allow, deny)},
    )  # fmt: skip


def document_deletion_send(*, actor: str, corpus: Corpus, external_id: str, source: str) -> UUID:
    """Tell that the document of this id is no more: a tombstone event, whether the document has arrived yet or not."""
    return _event_write(
        organisation=corpus.organisation, actor=actor, corpus=corpus, external_id=external_id, source=source,
        kind=EventType.DELETED, data={},
    )  # fmt: skip


def document_withdraw(*, actor: str, document: Document, source: str = "upload") -> UUID:
    """Take a document back: a tombstone event."""
    return document_deletion_send(actor=actor, corpus=document.corpus, external_id=document.external_id, source=source)


@transaction.atomic
def _event_write(
    *, organisation: Organisation, actor: str, corpus: Corpus, external_id: str, source: str, kind: EventType, data: dict
) -> UUID:
    key = document_key(corpus.slug, external_id)
    revision = _next_revision(corpus, external_id, key)
    event_id = new_id()
    event = {
        "specversion": "1.0",
        "id": str(event_id),
        "source": source_ensure(organisation, source).uri,
        "type": kind.value,
        "subject": key,
        "sequence": revision,
        "datacontenttype": "application/json",
        "data": {"corpus": corpus.slug, "external_id": external_id, **data},
    }
    OutboxEvent.objects.create(
        id=event_id, topic=DOCUMENTS_TOPIC, key=key, type=kind.value, payload=event
    )
    audit_append(
        organisation=organisation, act=f"{kind.value}.sent", subject=str(event_id), actor=str(actor),
        body={"corpus": str(corpus.id), "revision": revision, "sha256": data.get("blob", {}).get("sha256")},
    )  # fmt: skip
    return event_id


def _next_revision(corpus: Corpus, external_id: str, key: str) -> int:
    """A revision that only grows, also when the clock does not: above what took effect and above what is on its way."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"revision:{corpus.organisation_id}:{key}"])
    known = Document.objects.filter(corpus=corpus, external_id=external_id).values_list("revision", flat=True).first() or 0
    sent = OutboxEvent.objects.filter(topic=DOCUMENTS_TOPIC, key=key, payload__source__startswith=f"/docmemo/{corpus.organisation.slug}/")
    on_the_way = max(sent.order_by("-id").values_list("payload__sequence", flat=True)[:100], default=0)
    return max(time.time_ns() // 1000, known + 1, on_the_way + 1)
