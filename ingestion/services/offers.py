"""Offering work to the queues: bounded for each job, so that a large document leaves room, and for each queue, so that the broker
holds a bounded backlog. What is not offered waits in the database, and is offered as room comes.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Min, Q
from django.utils import timezone

from ingestion.domain.lifecycle import JobState, StageState
from ingestion.models import StageRun
from ingestion.seams import load
from ingestion.seams.task_queue import QueueUnavailable
from ingestion.stages import PIPELINE

logger = logging.getLogger(__name__)

RUN_STAGE_TASK = "docmemo.run_stage"
WINDOWS_IN_FLIGHT = 4  # of one job: a large document leaves room for small ones
PATIENT_AFTER_PAGE, PATIENCE = 200, 3
PRIORITIES = {stage.name: stage.priority for stage in PIPELINE}
JOBS_A_PASS = 2000
OPEN_JOB = Q(job__state__in=[JobState.QUEUED, JobState.RUNNING], job__paused_at__isnull=True)


class Rooms:
    """How many more tasks each queue's broker may be given; asked once for each queue, counted down from then on."""

    def __init__(self) -> None:
        self._left: dict[str, int] = {}

    def left(self, queue: str) -> int:
        """The room of the queue now. Raises `QueueUnavailable`."""
        if queue not in self._left:
            self._left[queue] = settings.WORK["BACKLOG"][queue] - load("task_queue").depth(queue)
        return self._left[queue]

    def take(self, queue: str) -> None:
        """One more was given."""
        self._left[queue] = self.left(queue) - 1


def runs_offer_after_commit(job_id: UUID) -> None:
    """Offer the job's next runs once the transaction has committed."""
    transaction.on_commit(lambda: runs_offer(job_id))


def runs_offer(job_id: UUID, rooms: Rooms | None = None) -> int:
    """Hand the job's due runs to the task queue, at most `WINDOWS_IN_FLIGHT` at a time and no more than their queues have room for.

    Nothing of a paused job is offered. The sweeper does what this misses.
    """
    now, rooms = timezone.now(), rooms or Rooms()
    stale = now - _patience()
    held = StageRun.objects.filter(job_id=job_id).filter(
        Q(state=StageState.RUNNING) | Q(state=StageState.PENDING, offered_at__gt=stale)
    )
    left = WINDOWS_IN_FLIGHT - held.count()
    if left <= 0:
        return 0
    due = StageRun.objects.filter(OPEN_JOB, _not_offered(stale), job_id=job_id, state=StageState.PENDING, due_at__lte=now)
    offered = 0
    try:
        for run in due.order_by("first_page", "id")[:left]:
            if rooms.left(run.queue) <= 0 or not due.filter(id=run.id).update(offered_at=now):
                continue
            load("task_queue").enqueue(
                RUN_STAGE_TASK, [str(run.id)], run.queue, priority=_priority(run), seconds=settings.PIPELINE["DEADLINES"][run.stage]
            )
            rooms.take(run.queue)
            offered += 1
    except QueueUnavailable as error:
        logger.warning("the task queue did not take a stage run of job %s: %s", job_id, error)
    return offered


def due_offer() -> int:
    """Offer what is due of every open job, the job that has waited longest first, until the queues are full; returns how many."""
    now = timezone.now()
    due = StageRun.objects.filter(OPEN_JOB, _not_offered(now - _patience()), state=StageState.PENDING, due_at__lte=now)
    rooms, offered, full = Rooms(), 0, set()
    jobs = due.values("job_id", "queue").annotate(since=Min("due_at")).order_by("since")
    for row in list(jobs[:JOBS_A_PASS]):
        try:
            if row["queue"] in full or rooms.left(row["queue"]) <= 0:
                full.add(row["queue"])
                continue
        except QueueUnavailable as error:
            logger.warning("the task queue cannot be reached: %s", error)
            return offered
        offered += runs_offer(row["job_id"], rooms)
    return offered


def _patience() -> timedelta:
    """How long a task that was offered may wait in its queue before it is offered again."""
    return timedelta(seconds=settings.PIPELINE["OFFER_AGAIN_SECONDS"])


def _not_offered(stale: object) -> Q:
    return Q(offered_at__isnull=True) | Q(offered_at__lte=stale)


def _priority(run: StageRun) -> int:
    """The stage's own; the later windows of a large document step back behind small ones."""
    return PRIORITIES[run.stage] - (run.first_page > PATIENT_AFTER_PAGE) * PATIENCE
