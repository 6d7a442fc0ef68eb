"""Workers that listen: they say so themselves, and one that has been silent for long is forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.db.models.functions import Now

from ingestion.models import WorkerHeartbeat

FORGOTTEN_AFTER = timedelta(hours=1)


def worker_seen(*, name: str, queues: Sequence[str], processes: int, lag: int | None = None) -> None:
    """The worker listens to these queues now, by the clock of the database; a consumer of events says its lag instead of queues."""
    seen = {"queues": list(queues), "processes": processes, "lag": lag, "seen_at": Now()}
    WorkerHeartbeat.objects.update_or_create(name=name[:200], defaults=seen, create_defaults={**seen, "started_at": Now()})


def worker_left(*, name: str) -> None:
    """The worker stopped by itself."""
    WorkerHeartbeat.objects.filter(name=name[:200]).delete()


def heartbeats_forget() -> int:
    """Remove what has been silent for long; returns how many rows."""
    return WorkerHeartbeat.objects.filter(seen_at__lt=Now() - FORGOTTEN_AFTER).delete()[0]
