"""Events taken in: kept once in the inbox, then put into effect in order of the document's revision."""

from __future__ import annotations

import base64
import binascii
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from ingestion.domain.access import AccessList
from ingestion.domain.errors import IngestionError, Permanent
from ingestion.domain.events import (
    DEAD_LETTERS_TOPIC,
    MAX_INLINE_BYTES,
    AccessData,
    DocumentEvent,
    EventType,
    parse_event,
)
from ingestion.domain.lifecycle import InboxState
from ingestion.models import (
    Blob,
    Corpus,
    DeadLetter,
    Document,
    DocumentVersion,
    InboxEvent,
    OutboxEvent,
    Source,
)
from ingestion.seams.event_bus import Message
from ingestion.services.access import assignment_put, document_classes_apply, tags_named
from ingestion.services.audit import audit_append
from ingestion.services.documents import blob_store
from ingestion.services.jobs import document_retire, job_start
from ingestion.services.pipeline import pipeline_fingerprint

WAIT_FOR_CORPUS = timedelta(minutes=10)


def event_receive(message: Message) -> UUID | None:
    """Keep the message's event in the inbox, once; a bad message becomes a dead letter. Returns the inbox id of a new event."""
    try:
        event = parse_event(message.value)
        source = _registered_source(event)
    except Permanent as error:
        dead_letter_keep(message, error.code, error.message)
        return None
    data = event.data.model_dump(mode="json", exclude={"content_base64"})
    try:
        with transaction.atomic():
            if event.data.content_base64 is not None:
                data["blob"] = _inline_blob(source, event.data.content_base64)
            inbox = InboxEvent.objects.create(
                source=source,
                event_id=event.id,
                type=event.type.value,
                corpus_slug=event.data.corpus,
                external_id=event.data.external_id,
                revision=event.sequence,
                payload=data,
            )
            return inbox.id
    except IntegrityError:  # the same event again
        return None
    except IngestionError as error:
        dead_letter_keep(message, error.code, error.message)
        return None


def _registered_source(event: DocumentEvent) -> Source:
    parts = event.source.split("/")
    if len(parts) == 4 and parts[:2] == ["", "docmemo"]:
        source = Source.objects.filter(organisation__slug=parts[2], name=parts[3], active=True).first()
        if source is not None:
            return source
    raise Permanent("unknown_source", "The event's source is not a registered producer.")


def _inline_blob(source: Source, content: str) -> dict[str, Any]:
    try:
        raw = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise Permanent("bad_event", "content_base64 is not base64.") from None
    if len(raw) > MAX_INLINE_BYTES:
        raise Permanent("too_large", f"Inline content has {len(raw)} bytes; at most {MAX_INLINE_BYTES} are taken.")
    blob = blob_store(source.organisation, raw)
    return {"sha256": blob.sha256, "bytes": blob.bytes}


@transaction.atomic
def dead_letter_keep(message: Message, cause: str, reason: str, inbox: InboxEvent | None = None) -> None:
    """Keep what could not be taken in, with its cause; the topic gets a copy of the cause, not of the content."""
    offset = message.offset
    twin = DeadLetter.objects.filter(topic=message.topic, partition=message.partition, offset=offset, offset__gte=0).first()
    if twin is not None and bytes(twin.value) != message.value[:1_000_000]:
        offset = -1  # the embedded broker counts from nothing again after a restart: another message at a known place
    try:
        with transaction.atomic():
            letter = DeadLetter.objects.create(
                topic=message.topic,
                partition=message.partition,
                offset=offset,
                key=message.key,
                value=message.value[:1_000_000],
                cause=cause,
                reason=reason[:500],
                inbox_event=inbox,
            )
    except IntegrityError:
        return
    OutboxEvent.objects.create(
        topic=DEAD_LETTERS_TOPIC,
        key=str(letter.id),
        type="dead_letter",
        payload={"id": str(letter.id), "cause": cause, "topic": message.topic, "offset": message.offset},
    )


@transaction.atomic
def event_apply(inbox_id: UUID) -> InboxState:
    """Put an inbox event into effect; one that is settled already is a no-op. Returns the state it is in now."""
    event = InboxEvent.objects.select_for_update(of=("self",)).select_related("source__organisation").get(id=inbox_id)
    if event.state not in (InboxState.RECEIVED, InboxState.WAITING):
        return InboxState(event.state)
    corpus = Corpus.objects.filter(organisation=event.source.organisation, slug=event.corpus_slug).first()
    if corpus is None:
        return _wait_for_corpus(event)
    if corpus.deleted_at is not None:
        return _settle(event, InboxState.DEAD, "corpus_deleted: the corpus was deleted")
    if event.source.corpora.exists() and not event.source.corpora.filter(id=corpus.id).exists():
        return _settle(event, InboxState.DEAD, "not_allowed: the source may not write to this corpus")
    document, made = Document.objects.get_or_create(
        corpus=corpus, external_id=event.external_id, defaults={"organisation_id": corpus.organisation_id}
    )
    document = Document.objects.select_for_update().get(id=document.id)
    content, access = _still_news(event, document)
    if not content and not access:
        return _settle(event, InboxState.STALE, f"revision {event.revision} came after {document.revision}")
    refusal = _take_effect(event, document, content=content, access=access)
    if refusal:
        if made:  # a refused event leaves no document behind
            document.delete()
        return _settle(event, InboxState.DEAD, refusal)
    document.revision = max(document.revision, event.revision)
    document.save()
    audit_append(
        organisation=event.source.organisation, act=event.type, subject=str(document.id),
        actor=event.source.uri, body={"event": str(event.id), "revision": event.revision},
    )  # fmt: skip
    return _settle(event, InboxState.APPLIED, "")


def _still_news(event: InboxEvent, document: Document) -> tuple[bool, bool]:
    """Whether the event's content (or deletion) and its access list are newer than what is in effect.

    A list does not carry content: one that overtook its document's content must not make that content stale.
    """
    content = event.type != EventType.ACCESS_CHANGED
    access = event.type != EventType.DELETED and event.payload.get("access") is not None
    if event.revision > document.revision:
        return content, True
    newer = InboxEvent.objects.filter(
        source__organisation_id=document.organisation_id, corpus_slug=event.corpus_slug, external_id=event.external_id,
        state=InboxState.APPLIED, revision__gte=event.revision,
    )  # fmt: skip
    for kind, payload in newer.values_list("type", "payload"):
        content = content and kind == EventType.ACCESS_CHANGED
        access = access and payload.get("access") is None
    return content, access


def _wait_for_corpus(event: InboxEvent) -> InboxState:
    if timezone.now() - event.received_at > WAIT_FOR_CORPUS:
        return _settle(event, InboxState.DEAD, "unknown_corpus: no corpus of this name came in time")
    return _settle(event, InboxState.WAITING, "the corpus is not known yet")


def _settle(event: InboxEvent, state: InboxState, reason: str) -> InboxState:
    event.state, event.reason = state.value, reason[:500]
    event.settled_at = None if state is InboxState.WAITING else timezone.now()
    event.save(update_fields=["state", "reason", "settled_at"])
    if state is InboxState.DEAD:
        cause, _, text = reason.partition(": ")
        message = Message("inbox", event.external_id.encode(), b"")
        dead_letter_keep(message, cause, text or reason, event)
    return state


def _take_effect(event: InboxEvent, document: Document, *, content: bool, access: bool) -> str:
    """Change the document as those parts of the event say that are news; returns why it cannot, or an empty string."""
    if event.type == EventType.DELETED and content:
        document_retire(document)
        document.deleted_at = timezone.now()
        return ""
    reference = event.payload.get("blob")
    if event.type != EventType.ACCESS_CHANGED and reference is None:
        return "no_content: the event carries neither a blob nor inline content"
    blob = None
    if reference is not None:
        blob = Blob.objects.filter(organisation_id=document.organisation_id, sha256=reference["sha256"]).first()
        if blob is None:
            return "unknown_blob: the blob is not one of this organisation's"
    if document.deleted_at is not None and content:
        document.deleted_at = None  # sent again after deletion: a new life under the same id
    if content or not document.title:
        title = event.payload.get("title") or document.title or event.payload.get("file_name") or document.external_id
        document.title = title[:500]
    document.save()
    lists = event.payload.get("access")
    if lists is not None and access:
        _put_access(document, AccessData.model_validate(lists))
    if blob is not None and content:
        job_start(
            document=document, version=_version_for(event, document, blob), fingerprint=pipeline_fingerprint()
        )
    return ""


def _put_access(document: Document, access: AccessData) -> None:
    organisation = document.organisation
    lists = AccessList(None if access.allow is None else tags_named(organisation, access.allow), tags_named(organisation, access.deny))
    wanted = None if lists == AccessList() else lists
    if assignment_put(corpus=document.corpus, document=document, page_number=None, access=wanted):
        document_classes_apply(document)


def _version_for(event: InboxEvent, document: Document, blob: Blob) -> DocumentVersion:
    """The newest version if its content is the same, else a new one."""
    newest = document.versions.order_by("-number").first()
    if newest is not None and newest.content_sha256 == blob.sha256:
        return newest
    return DocumentVersion.objects.create(
        document=document,
        number=newest.number + 1 if newest else 1,
        revision=event.revision,
        blob=blob,
        content_sha256=blob.sha256,
        bytes=blob.bytes,
        file_name=event.payload.get("file_name", ""),
    )
