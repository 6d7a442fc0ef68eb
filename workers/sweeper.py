"""Repairs what a death left behind: leases that ran out, work and events that a broker forgot, deletions that are not forgotten yet."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef
from django.utils import timezone

from ingestion.domain.lifecycle import InboxState, JobState, StageState
from ingestion.models import InboxEvent, Job, StageRun
from ingestion.seams import load
from ingestion.services.events import event_apply, events_resend
from ingestion.services.heartbeats import heartbeats_forget
from ingestion.services.jobs import job_end_stranded, run_release_expired
from ingestion.services.offers import due_offer
from ingestion.services.purge import purges_offer_due
from ingestion.services.uploads import uploads_sweep
from qa.services.questions import runs_recover
from workers.loop import repeat, stop_on_signals

SETTLE_AFTER = timedelta(seconds=5)  # younger events are the consumer's own


def sweep(max_attempts: int) -> int:
    """One pass over everything; returns how much was repaired."""
    now = timezone.now()
    repaired = 0
    expired = StageRun.objects.filter(state=StageState.RUNNING, lease_until__lt=now).values_list("id", flat=True)
    for run_id in list(expired[:500]):
        repaired += run_release_expired(run_id, max_attempts)
    unsettled = InboxEvent.objects.filter(state__in=[InboxState.RECEIVED, InboxState.WAITING], received_at__lt=now - SETTLE_AFTER)
    for inbox_id in list(unsettled.order_by("attempts", "received_at").values_list("id", flat=True)[:500]):
        repaired += event_apply(inbox_id) is not InboxState.WAITING
    repaired += sum(job_end_stranded(job_id) for job_id in _stranded())
    repaired += events_resend() + purges_offer_due() + due_offer() + runs_recover() + uploads_sweep()
    heartbeats_forget()
    return repaired


def _stranded() -> list[UUID]:
    """Open jobs without a run that could take them on."""
    left = StageRun.objects.filter(job=OuterRef("pk"), state__in=[StageState.PENDING, StageState.RUNNING])
    jobs = Job.objects.filter(~Exists(left), state__in=[JobState.QUEUED, JobState.RUNNING])
    return list(jobs.values_list("id", flat=True)[:500])


def forget_offers() -> None:
    """At a start nothing is known of what a broker still holds: offer all that is open anew."""
    StageRun.objects.filter(state=StageState.PENDING, offered_at__isnull=False).update(offered_at=None)


def main() -> None:
    stop = stop_on_signals()
    load("task_queue")
    Job.objects.exists()  # fail early and loudly when the database is not there
    forget_offers()

    def step() -> bool:
        sweep(settings.PIPELINE["MAX_ATTEMPTS"])
        return False

    repeat("the sweeper", step, stop, idle_seconds=2.0)
