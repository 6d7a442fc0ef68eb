"""Queues: how much waits on each, who listens, and in plain words when nobody does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, Min, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from ingestion.domain.lifecycle import JobState, StageState
from ingestion.models import StageRun, WorkerHeartbeat


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A queue: pieces of work that are due and not taken, since when the oldest is due, and the workers that listen."""

    name: str
    waiting: int
    oldest: datetime | None
    running: int
    workers: int
    processes: int

    @property
    def unattended(self) -> bool:
        return self.waiting > 0 and self.workers == 0

    @property
    def oldest_seconds(self) -> float:
        return max(0.0, (timezone.now() - self.oldest).total_seconds()) if self.oldest else 0.0

    @property
    def statement(self) -> str:
        """What a person has to know and do when work waits and nobody listens; else an empty string."""
        if not self.unattended:
            return ""
        pieces = "1 piece" if self.waiting == 1 else f"{self.waiting} pieces"
        how = settings.WORK["HOW_TO_START"].format(queue=self.name)
        return f"Queue {self.name} has {pieces} of work and no worker listens to it. Start one: {how}"


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits on a queue and what is at work."""

    waiting: int = 0
    oldest: datetime | None = None
    running: int = 0


def queue_rows(answer: Waiting | None = None) -> list[QueueRow]:
    """Every queue; what waits on `answer` are questions, which the caller counts where it may see them."""
    held = {row["queue"]: Waiting(row["waiting"], row["oldest"], row["running"]) for row in _stage_runs()}
    if answer is not None:
        held["answer"] = answer
    listening = _listening()
    return [
        QueueRow(name, one.waiting, one.oldest, one.running, *listening.get(name, (0, 0)))
        for name in settings.WORK["QUEUES"]
        for one in [held.get(name, Waiting())]
    ]


def statements(rows: Iterable[QueueRow] | None = None) -> list[str]:
    """One sentence for each queue that has work and no worker."""
    return [row.statement for row in (queue_rows() if rows is None else rows) if row.unattended]


def queue_has_listener(queue: str) -> bool:
    """Whether a worker of this queue has been heard of lately."""
    return _fresh().filter(queues__contains=[queue]).exists()


def intake_lag() -> tuple[int, int]:
    """(consumers of events heard of lately, messages that wait for them in the broker)."""
    lags = list(_fresh().filter(lag__isnull=False).values_list("lag", flat=True))
    return len(lags), sum(lags)


def _fresh() -> QuerySet[WorkerHeartbeat]:
    return WorkerHeartbeat.objects.filter(seen_at__gt=Now() - timedelta(seconds=settings.WORK["SILENT_AFTER_SECONDS"]))


def _stage_runs() -> Iterable[dict]:
    due = Q(state=StageState.PENDING, due_at__lte=timezone.now(), job__paused_at__isnull=True)
    running = Q(state=StageState.RUNNING)
    return (
        StageRun.objects.filter(
            state__in=[StageState.PENDING, StageState.RUNNING], job__state__in=[JobState.QUEUED, JobState.RUNNING]
        )
        .values("queue")
        .annotate(waiting=Count("id", filter=due), oldest=Min("due_at", filter=due), running=Count("id", filter=running))
        .order_by()
    )


def _listening() -> dict[str, tuple[int, int]]:
    """(workers, processes) by queue."""
    found: dict[str, tuple[int, int]] = {}
    for worker in _fresh():
        for queue in worker.queues:
            workers, processes = found.get(queue, (0, 0))
            found[queue] = (workers + 1, processes + worker.processes)
    return found
