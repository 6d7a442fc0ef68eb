"""Dead letters, tried once more after their cause was mended."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from ingestion.domain.lifecycle import InboxState
from ingestion.models import DeadLetter, InboxEvent, Organisation
from ingestion.seams.event_bus import Message
from ingestion.services.audit import audit_append
from ingestion.services.events import event_apply, event_receive


@transaction.atomic
def dead_letter_redrive(*, letter: DeadLetter, actor: str) -> bool:
    """Take the letter's event in again; True when it took effect or waits; the letter is gone then. Else one with the new cause stays."""
    letter = DeadLetter.objects.select_for_update(of=("self",)).select_related("inbox_event__source__organisation").get(id=letter.id)
    inbox = letter.inbox_event
    if inbox is None:
        # As its own message it would be the same one again, and known.
        inbox_id = event_receive(Message(letter.topic, bytes(letter.key or b""), bytes(letter.value)))
        newest = DeadLetter.objects.exclude(id=letter.id).order_by("-id").first() if inbox_id is None else None
        if newest is not None and newest.offset < 0 and bytes(newest.value) == bytes(letter.value):
            newest.delete()
        if inbox_id is None:
            return False
        inbox = InboxEvent.objects.select_related("source__organisation").get(id=inbox_id)
    else:
        InboxEvent.objects.filter(id=inbox.id, state=InboxState.DEAD).update(
            state=InboxState.RECEIVED.value, reason="", settled_at=None, received_at=timezone.now()
        )
    organisation: Organisation = inbox.source.organisation
    cause = letter.cause
    letter.delete()
    audit_append(organisation=organisation, act="event.redriven", subject=str(inbox.id), actor=actor, body={"cause": cause})
    return event_apply(inbox.id) is not InboxState.DEAD
