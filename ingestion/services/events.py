"""Events taken in: kept once in the inbox, then put into effect in order of the revision of their document or corpus."""

from __future__ import annotations

import base64
import binascii
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils import timezone

from ingestion.domain.errors import IngestionError, Permanent, Transient
from ingestion.domain.events import (
    DEAD_LETTERS_TOPIC,
    INTAKE_TOPICS,
    MAX_INLINE_BYTES,
    CorpusEvent,
    DocumentEvent,
    EventType,
    parse_event,
)
from ingestion.domain.lifecycle import InboxState
from ingestion.models import Corpus, DeadLetter, Document, InboxEvent, OutboxEvent, Source
from ingestion.seams.event_bus import Message
from ingestion.services.audit import audit_append
from ingestion.services.documents import blob_store
from ingestion.services.event_effects import corpus_take_effect, document_take_effect
from ingestion.services.purge import purge_request

WAIT_FOR_CORPUS = timedelta(minutes=10)
MAX_ATTEMPTS = 5
MAX_KEPT_BYTES = 1_000_000  # of a message that could not be taken in
RESENT_AFTER = timedelta(seconds=20)
RESEND_DOUBLINGS = 8


def event_receive(message: Message) -> UUID | None:
    """Keep the message's event in the inbox, once; a bad message becomes a dead letter. Returns the inbox id of a new event.

    Raises `Transient` where it cannot be kept now, such as on a full disk: its offset must not be committed then.
    """
    try:
        event = parse_event(message.value, message.headers)
        if message.key != event.key.encode():
            raise Permanent("bad_key", "The message's key has to be the document's (corpus/external_id) or the corpus's.")
        source = _registered_source(event)
        with transaction.atomic():
            inbox = _inbox_write(event, source)
            _mark_received(event)
            return inbox.id if inbox else None
    except Transient:
        raise
    except IngestionError as error:
        dead_letter_keep(message, error.code, error.message)
        return None


def _inbox_write(event: DocumentEvent | CorpusEvent, source: Source) -> InboxEvent | None:
    """The new row, or None when the same event was kept before.

    The row comes first, and its content after: an event that is sent again must not bring back bytes that were forgotten since.
    """
    try:
        with transaction.atomic():
            inbox = InboxEvent.objects.create(
                source=source,
                event_id=event.id,
                type=event.type.value,
                corpus_slug=event.data.corpus,
                external_id=event.data.external_id if isinstance(event, DocumentEvent) else "",
                revision=event.sequence,
                payload=event.data.model_dump(mode="json", exclude={"content_base64"}),
            )
    except IntegrityError:
        return None
    if isinstance(event, DocumentEvent) and event.data.content_base64 is not None:
        inbox.payload["blob"] = _inline_blob(source, event.data.content_base64)
        inbox.save(update_fields=["payload"])
    return inbox


def _mark_received(event: DocumentEvent | CorpusEvent) -> None:
    """One of our own events came back from the broker: it need not be sent again."""
    try:
        own = UUID(event.id)
    except ValueError:
        return
    OutboxEvent.objects.filter(id=own, topic__in=INTAKE_TOPICS, payload__source=event.source, received_at__isnull=True).update(
        received_at=timezone.now()
    )


def events_resend() -> int:
    """Publish anew what the broker took and forgot: our own events that were published and never came back. Returns how many.

    Each time an event is waited for twice as long: a consumer that is only slow must not find its backlog doubled.
    """
    now = timezone.now()
    late = Q()
    for times in range(RESEND_DOUBLINGS + 1):
        published = {"publications__lte" if times == 0 else "publications__gte" if times == RESEND_DOUBLINGS else "publications": times + 1}
        late |= Q(**published, published_at__lt=now - RESENT_AFTER * 2**times)
    return OutboxEvent.objects.filter(late, topic__in=INTAKE_TOPICS, received_at__isnull=True).update(published_at=None)


def _registered_source(event: DocumentEvent | CorpusEvent) -> Source:
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
    if twin is not None and bytes(twin.value) != message.value[:MAX_KEPT_BYTES]:
        offset = -1  # the embedded broker counts from nothing again after a restart: another message at a known place
    try:
        with transaction.atomic():
            letter = DeadLetter.objects.create(
                topic=message.topic,
                partition=message.partition,
                offset=offset,
                key=message.key,
                value=message.value[:MAX_KEPT_BYTES],
                headers={name: value.decode("latin-1")[:1000] for name, value in list(message.headers.items())[:30]},
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


def event_apply(inbox_id: UUID) -> InboxState:
    """Put an inbox event into effect; one that is settled already is a no-op. Returns the state it is in now.

    Attempts are counted before they are made: an event that broke every one becomes a dead letter and holds nobody up.
    """
    counted = InboxEvent.objects.filter(id=inbox_id, state__in=[InboxState.RECEIVED, InboxState.WAITING], attempts__lt=MAX_ATTEMPTS)
    spent = not counted.filter(state=InboxState.RECEIVED).update(attempts=F("attempts") + 1) and not counted.exists()
    with transaction.atomic():
        event = InboxEvent.objects.select_for_update(of=("self",)).select_related("source__organisation").get(id=inbox_id)
        if event.state not in (InboxState.RECEIVED, InboxState.WAITING):
            return InboxState(event.state)
        if spent:
            return _settle(event, InboxState.DEAD, "apply_failed: every attempt to put the event into effect broke")
        if not event.source.active:
            return _settle(event, InboxState.DEAD, "unknown_source: the source is no longer a registered producer")
        if EventType(event.type).of_corpus:
            return _apply_to_corpus(event)
        return _apply_to_document(event)


def _apply_to_corpus(event: InboxEvent) -> InboxState:
    organisation = event.source.organisation
    if event.source.corpora.exists() and not event.source.corpora.filter(slug=event.corpus_slug).exists():
        return _settle(event, InboxState.DEAD, "not_allowed: the source may not write to this corpus")
    corpus, _ = Corpus.objects.get_or_create(organisation=organisation, slug=event.corpus_slug, defaults={"name": event.corpus_slug})
    corpus = Corpus.objects.select_for_update().get(id=corpus.id)
    if event.revision <= corpus.revision:
        return _settle(event, InboxState.STALE, f"revision {event.revision} came after {corpus.revision}")
    corpus_take_effect(event, corpus)
    corpus.revision = event.revision
    corpus.save()
    return _applied(event, str(corpus.id))


def _apply_to_document(event: InboxEvent) -> InboxState:
    # the corpus is locked against its own deletion: no document slips in behind it
    corpus = (
        Corpus.objects.select_for_update(no_key=True).filter(organisation=event.source.organisation, slug=event.corpus_slug).first()
    )
    if corpus is None:
        return _wait_for_corpus(event)
    if corpus.deleted_at is not None:
        return _settle(event, InboxState.DEAD, "corpus_deleted: the corpus was deleted")
    if event.source.corpora.exists() and not event.source.corpora.filter(id=corpus.id).exists():
        return _settle(event, InboxState.DEAD, "not_allowed: the source may not write to this corpus")
    document, made = Document.objects.get_or_create(
        corpus=corpus, external_id=event.external_id, defaults={"organisation_id": corpus.organisation_id}
    )
    document = Document.objects.select_for_update(of=("self",)).select_related("corpus", "organisation").get(id=document.id)
    content, access = _still_news(event, document)
    if not content and not access:
        if event.revision <= document.purged_through:  # it brought bytes of a life that was forgotten
            purge_request(document, document.purged_through)
        return _settle(event, InboxState.STALE, f"revision {event.revision} came after {document.revision}")
    refusal = document_take_effect(event, document, content=content, access=access)
    if refusal:
        if made:  # a refused event leaves no document behind
            document.delete()
        return _settle(event, InboxState.DEAD, refusal)
    document.revision = max(document.revision, event.revision)
    document.save()
    return _applied(event, str(document.id))


def _applied(event: InboxEvent, subject: str) -> InboxState:
    audit_append(
        organisation=event.source.organisation, act=event.type, subject=subject, actor=event.source.uri,
        body={"event": str(event.id), "revision": event.revision},
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
    applied = list(newer.values_list("type", "payload"))
    if not applied:  # what they said is no longer kept: a late event must not be taken for news
        return False, False
    for kind, payload in applied:
        content = content and kind == EventType.ACCESS_CHANGED
        access = access and payload.get("access") is None
    return content and event.revision > document.purged_through, access


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
        key = f"{event.corpus_slug}/{event.external_id}" if event.external_id else event.corpus_slug
        dead_letter_keep(Message("inbox", key.encode(), b""), cause, text or reason, event)
    return state


@transaction.atomic
def dead_letter_redrive(*, letter: DeadLetter, actor: str) -> InboxState | None:
    """Try a dead letter again, when its cause is gone; one that was redriven before is left alone.

    Returns the state of its event now; None when it became a dead letter again before it was an event. The old letter stays as a record.
    """
    letter = DeadLetter.objects.select_for_update(of=("self",)).select_related("inbox_event__source").get(id=letter.id)
    if letter.redriven_at is not None:
        return None
    letter.redriven_at = timezone.now()
    letter.save(update_fields=["redriven_at"])
    event = letter.inbox_event
    if event is None:
        source_headers = {name: value.encode("latin-1") for name, value in letter.headers.items()}
        message = Message(letter.topic, bytes(letter.key) if letter.key is not None else None, bytes(letter.value), source_headers)
        inbox_id = event_receive(message)
        if inbox_id is None:
            return None
        event = InboxEvent.objects.get(id=inbox_id)
    elif event.state == InboxState.DEAD:
        event.state, event.attempts, event.reason, event.received_at = InboxState.RECEIVED.value, 0, "", timezone.now()
        event.save(update_fields=["state", "attempts", "reason", "received_at"])
    audit_append(
        organisation=event.source.organisation, act="event.redriven", subject=str(event.id), actor=actor,
        body={"dead_letter": str(letter.id), "cause": letter.cause},
    )  # fmt: skip
    return event_apply(event.id)
