"""Questions that wait for a worker of the queue `answer`."""

from __future__ import annotations

from django.db.models import Count, Min, Q

from ingestion.selectors.queues import QueueRow, Waiting, queue_rows
from qa.models import Run, RunState


def questions_waiting() -> Waiting:
    """How many questions wait, since when the oldest does, and how many are at work."""
    waiting = Q(state=RunState.WAITING)
    found = Run.objects.filter(state__in=[RunState.WAITING, RunState.RUNNING]).aggregate(
        waiting=Count("id", filter=waiting), oldest=Min("created_at", filter=waiting), running=Count("id", filter=~waiting)
    )
    return Waiting(**found)


def all_queues() -> list[QueueRow]:
    """Every queue, `answer` with its questions."""
    return queue_rows(questions_waiting())
