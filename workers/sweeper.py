"""Repairs what a death left behind: leases that ran out, work and events that a broker forgot, deletions that are not forgotten yet."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from ingestion.domain.lifecycle import InboxState, JobState, StageState
from ingestion.models import InboxEvent, Job, StageRun
from ingestion.seams import load
from ingestion.services.events import event_apply, events_resend
from ingestion.services.jobs import run_release_expired, runs_offer
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
    waiting = InboxEvent.objects.filter(state=InboxState.WAITING, received_at__lt=now - SETTLE_AFTER)
    for inbox_id in list(waiting.order_by("received_at").values_list("id", flat=True)[:500]):
        repaired += event_apply(inbox_id) is not InboxState.WAITING
    repaired += events_resend() + purges_offer_due()
    due = StageRun.objects.filter(state=StageState.PENDING, due_at__lte=now, job__state__in=[JobState.QUEUED, JobState.RUNNING])
    for job_id in list(due.values_list("job_id", flat=True).distinct()[:2000]):
        repaired += runs_offer(job_id)
    return repaired + runs_recover() + uploads_sweep()


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
