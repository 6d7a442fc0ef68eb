"""Telling the outside what became of a document or an answer: a CloudEvent in the outbox, in the transaction of the change."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from ingestion.domain.events import EVENTS_TOPIC, OutcomeData, OutcomeEvent, OutcomeType, document_key
from ingestion.domain.ids import new_id
from ingestion.models import Document, Organisation, OutboxEvent


def outcome_announce(*, organisation: Organisation, kind: OutcomeType, key: str, **data: Any) -> None:
    """`data` are fields of `OutcomeData`. It is published once the caller's transaction has committed."""
    event_id = new_id()
    event = OutcomeEvent(
        id=str(event_id),
        source=f"/docmemo/{organisation.slug}",
        type=kind,
        time=timezone.now(),
        subject=key,
        data=OutcomeData(**data),
    )
    OutboxEvent.objects.create(
        id=event_id, topic=EVENTS_TOPIC, key=key, type=kind.value, payload=event.model_dump(mode="json", exclude_none=True)
    )


def document_outcome_announce(document: Document, kind: OutcomeType, **data: Any) -> None:
    """An outcome of a document, keyed as its own events are."""
    outcome_announce(
        organisation=document.organisation,
        kind=kind,
        key=document_key(document.corpus.slug, document.external_id),
        document=str(document.id),
        external_id=document.external_id,
        **data,
    )
