"""Handing a document in and taking it back: each becomes an event in the outbox and takes the same way as any other."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from ingestion.domain.errors import failure
from ingestion.domain.events import DOCUMENTS_TOPIC, EventType, document_key
from ingestion.domain.ids import new_id
from ingestion.models import Blob, Corpus, Document, Organisation, OutboxEvent, Source
from ingestion.seams import load
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
    blob = Blob(organisation=organisation, sha256=digest, bytes=size)
    try:
        load("blobs").put(blob.key, content)
    except OSError as error:
        raise no_room(error) or error from error
    stored, _ = Blob.objects.get_or_create(organisation=organisation, sha256=digest, defaults={"bytes": size})
    return stored


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def document_submit(
    *,
    organisation: Organisation,
    actor: str,
    corpus: Corpus,
    external_id: str,
    content: Path | bytes,
    file_name: str = "",
    title: str = "",
    allow: Iterable[str] | None = None,
    deny: Iterable[str] = (),
    keep_access: bool = False,
    source: str = "upload",
) -> UUID:
    """Hand in a document (new, or a new version of the same external id); returns the event's id.

    `allow` and `deny` are the document's whole list; with `keep_access` the list in force stays as it is.
    Raises an `IngestionError` such as too_large; everything else is found, and said, by the pipeline.
    """
    blob = blob_store(organisation, content)
    data: dict[str, Any] = {
        "file_name": file_name[:500],
        "title": title[:500],
        "blob": {"sha256": blob.sha256, "bytes": blob.bytes},
    }
    if not keep_access:
        data["access"] = {"allow": None if allow is None else sorted(allow), "deny": sorted(deny)}
    return _event_write(
        organisation=organisation, actor=actor, corpus=corpus, external_id=external_id, source=source,
        kind=EventType.UPDATED, data=data,
    )  # fmt: skip


def document_withdraw(*, actor: str, document: Document, source: str = "upload") -> UUID:
    """Take a document back: a tombstone event."""
    return _event_write(
        organisation=document.organisation, actor=actor, corpus=document.corpus, external_id=document.external_id,
        source=source, kind=EventType.DELETED, data={},
    )  # fmt: skip


@transaction.atomic
def _event_write(
    *, organisation: Organisation, actor: str, corpus: Corpus, external_id: str, source: str, kind: EventType, data: dict
) -> UUID:
    known = Document.objects.filter(corpus=corpus, external_id=external_id).first()
    # a revision that only grows: microseconds, and never below what the document has seen
    revision = max(time.time_ns() // 1000, known.revision + 1 if known else 0)
    event_id = new_id()
    event = {
        "specversion": "1.0",
        "id": str(event_id),
        "source": source_ensure(organisation, source).uri,
        "type": kind.value,
        "subject": document_key(corpus.slug, external_id),
        "sequence": revision,
        "datacontenttype": "application/json",
        "data": {"corpus": corpus.slug, "external_id": external_id, **data},
    }
    OutboxEvent.objects.create(
        id=event_id, topic=DOCUMENTS_TOPIC, key=document_key(corpus.slug, external_id), type=kind.value, payload=event
    )
    audit_append(
        organisation=organisation, act=f"{kind.value}.sent", subject=str(event_id), actor=str(actor),
        body={"corpus": str(corpus.id), "revision": revision, "sha256": data.get("blob", {}).get("sha256")},
    )  # fmt: skip
    return event_id
