"""Jobs: a version's way through the pipeline, from its first stage run to its end, whatever dies on the way.

A stage run is claimed by a conditional UPDATE (lease, fencing token, attempt count). What a stage found is stored in one transaction
that holds the run's row and checks the token: a worker whose lease was lost writes nothing. The same transaction makes the next runs.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from ingestion.domain.errors import IngestionError, NeedsHuman, NoRoom, Transient, failure
from ingestion.domain.events import OutcomeType
from ingestion.domain.lifecycle import BuildState, JobState, StageState
from ingestion.models import Build, BuildLiveness, Document, DocumentVersion, Job, StageRun
from ingestion.seams import load
from ingestion.seams.task_queue import QueueUnavailable
from ingestion.services.audit import audit_append
from ingestion.services.outcomes import document_outcome_announce
from ingestion.stages import PIPELINE, Stage

logger = logging.getLogger(__name__)

RUN_STAGE_TASK = "docmemo.run_stage"
WINDOWS_IN_FLIGHT = 4  # of one job: a large document leaves room for small ones
PATIENT_AFTER_PAGE, PATIENCE = 200, 3
WAIT_FOR_ROOM = timedelta(seconds=30)
PRIORITIES = {stage.name: stage.priority for stage in PIPELINE}


# --- starting and ending -----------------------------------------------------------------------------


def job_start(*, document: Document, version: DocumentVersion, fingerprint: str) -> Job | None:
    """A job for this version, or None where nothing is to do: same content and same fingerprint are live or under way.

    The caller holds the document's row lock. Open jobs of older versions are superseded.
    """
    build, made = Build.objects.get_or_create(
        version=version, fingerprint=fingerprint, defaults={"document": document, "state": BuildState.BUILDING.value}
    )
    if document.live_build_id == build.id:
        return None
    open_job = Job.objects.filter(build=build, state__in=[JobState.QUEUED, JobState.RUNNING]).first()
    if open_job is not None:
        return open_job
    if not made:
        _rebuild(build)
    for older in Job.objects.filter(document=document, state__in=[JobState.QUEUED, JobState.RUNNING]).exclude(build=build):
        _job_end(older, JobState.SUPERSEDED, code="superseded", reason="A newer version of the document arrived.")
    job = Job.objects.create(organisation_id=document.organisation_id, document=document, version=version, build=build)
    _stage_runs_make(job, PIPELINE[0], [(0, 0)])
    runs_offer_after_commit(job.id)
    return job


def _rebuild(build: Build) -> None:
    """Ready a build that did not come to its end, or was withdrawn, to be made anew; what it holds is overwritten."""
    if build.state == BuildState.FAILED:
        build.state = BuildState.BUILDING.value
        build.save(update_fields=["state"])
    elif build.state in (BuildState.SUPERSEDED, BuildState.WITHDRAWN):
        # as it stands it cannot be trusted to be whole; the fingerprint moves aside to make room for a fresh one
        Build.objects.filter(id=build.id).update(fingerprint=f"{build.fingerprint[:40]}-{str(build.id)[-20:]}")
        fresh = Build.objects.create(document_id=build.document_id, version_id=build.version_id, fingerprint=build.fingerprint)
        build.id, build.state = fresh.id, fresh.state
        build.refresh_from_db()


def document_retire(document: Document) -> None:
    """Nothing of the document is live any more, at once; open jobs are cancelled. The caller holds the row lock."""
    for job in Job.objects.filter(document=document, state__in=[JobState.QUEUED, JobState.RUNNING]):
        _job_end(job, JobState.CANCELLED, code="deleted", reason="The document was deleted.")
    BuildLiveness.objects.filter(document=document, live_to__isnull=True).update(live_to=timezone.now())
    document.live_build = document.live_version = None
    document.save(update_fields=["live_build", "live_version"])
    Build.objects.filter(document=document).exclude(state=BuildState.WITHDRAWN).update(state=BuildState.WITHDRAWN.value)
    document_outcome_announce(document, OutcomeType.WITHDRAWN)


def _job_end(job: Job, state: JobState, *, code: str = "", reason: str = "", stage: str = "") -> None:
    job.state, job.reason_code, job.reason, job.failed_stage = state.value, code, reason[:500], stage
    job.finished_at = timezone.now()
    job.save()
    StageRun.objects.filter(job=job, state__in=[StageState.PENDING, StageState.RUNNING]).update(
        state=StageState.CANCELLED.value, lease_until=None, finished_at=timezone.now()
    )
    # what was cancelled may be retried and goes on with its build; what was superseded may not
    build_end = BuildState.WITHDRAWN if state is JobState.SUPERSEDED else BuildState.FAILED
    Build.objects.filter(id=job.build_id, state=BuildState.BUILDING).update(state=build_end.value)
    if state in (JobState.FAILED, JobState.QUARANTINED):
        document_outcome_announce(job.document, OutcomeType.FAILED, version=job.version.number, code=code, stage=stage)
        audit_append(
            organisation=job.organisation, act="document.version.failed", subject=str(job.document_id), actor="pipeline",
            body={"job": str(job.id), "version": str(job.version_id), "code": code, "stage": stage},
        )  # fmt: skip


@transaction.atomic
def job_retry(*, job: Job, actor: str) -> bool:
    """Go on from the stage that failed; what was done stays done. Returns whether the job could be retried."""
    job = Job.objects.select_for_update().get(id=job.id)
    if job.state not in (JobState.FAILED, JobState.QUARANTINED, JobState.CANCELLED):
        return False
    if job.document.deleted_at is not None or job.version.revision <= job.document.purged_through:
        return False
    if job.version.number < (_newest_number(job.document) or 0):
        return False
    if job.build.state == BuildState.WITHDRAWN:  # its document was deleted and lives anew: that life has a job of its own
        return False
    _rebuild(job.build)
    job.state, job.reason_code, job.reason, job.failed_stage, job.finished_at = JobState.QUEUED.value, "", "", "", None
    job.save()
    StageRun.objects.filter(job=job, state__in=[StageState.FAILED, StageState.CANCELLED]).update(
        state=StageState.PENDING.value, attempts=0, due_at=timezone.now(), offered_at=None, reason="", reason_code=""
    )
    audit_append(organisation=job.organisation, act="job.retried", subject=str(job.id), actor=str(actor))
    runs_offer_after_commit(job.id)
    return True


@transaction.atomic
def job_cancel(*, job: Job, actor: str) -> bool:
    """Stop a job that is not finished; the live version stays as it is."""
    job = Job.objects.select_for_update().get(id=job.id)
    if job.state not in (JobState.QUEUED, JobState.RUNNING):
        return False
    _job_end(job, JobState.CANCELLED, code="cancelled", reason="A person cancelled the job.")
    audit_append(organisation=job.organisation, act="job.cancelled", subject=str(job.id), actor=str(actor))
    return True


def _newest_number(document: Document) -> int | None:
    return document.versions.order_by("-number").values_list("number", flat=True).first()


# --- offering work to the queues ---------------------------------------------------------------------


def _stage_runs_make(job: Job, stage: Stage, windows: Sequence[tuple[int, int]]) -> None:
    now = timezone.now()
    StageRun.objects.bulk_create(
        [
            StageRun(job=job, stage=stage.name, first_page=first, last_page=last, queue=stage.queue, due_at=now)
            for first, last in windows
        ],
        ignore_conflicts=True,
    )


def runs_offer_after_commit(job_id: UUID) -> None:
    """Offer the job's next runs once the transaction has committed."""
    transaction.on_commit(lambda: runs_offer(job_id))


def runs_offer(job_id: UUID) -> int:
    """Hand the job's due runs to the task queue, at most `WINDOWS_IN_FLIGHT` at a time; the sweeper does what this misses."""
    now = timezone.now()
    stale = now - timedelta(seconds=settings.PIPELINE["OFFER_AGAIN_SECONDS"])
    held = StageRun.objects.filter(job_id=job_id).filter(
        Q(state=StageState.RUNNING) | Q(state=StageState.PENDING, offered_at__gt=stale)
    )
    room = WINDOWS_IN_FLIGHT - held.count()
    if room <= 0:
        return 0
    due = StageRun.objects.filter(job_id=job_id, state=StageState.PENDING, due_at__lte=now).filter(
        Q(offered_at__isnull=True) | Q(offered_at__lte=stale)
    )
    offered = 0
    for run in due.order_by("first_page", "id")[:room]:
        if not due.filter(id=run.id).update(offered_at=now):
            continue
        try:
            load("task_queue").enqueue(RUN_STAGE_TASK, [str(run.id)], run.queue, priority=_priority(run))
        except QueueUnavailable as error:
            logger.warning("the task queue did not take stage run %s: %s", run.id, error)
            break
        offered += 1
    return offered


def _priority(run: StageRun) -> int:
    """The stage's own; the later windows of a large document step back behind small ones."""
    return PRIORITIES[run.stage] - (run.first_page > PATIENT_AFTER_PAGE) * PATIENCE


# --- claiming, finishing, failing --------------------------------------------------------------------


def run_claim(run_id: UUID, worker: str, lease: timedelta) -> StageRun | None:
    """Take the run under a new fencing token, or None when it is not to be had."""
    now = timezone.now()
    taken = StageRun.objects.filter(
        id=run_id, state=StageState.PENDING, due_at__lte=now, job__state__in=[JobState.QUEUED, JobState.RUNNING]
    ).update(
        state=StageState.RUNNING.value,
        attempts=F("attempts") + 1,
        fencing_token=F("fencing_token") + 1,
        worker=worker[:200],
        lease_until=now + lease,
        started_at=now,
    )
    if not taken:
        return None
    run = StageRun.objects.select_related("job__document", "job__version__blob", "job__build").get(id=run_id)
    Job.objects.filter(id=run.job_id, state=JobState.QUEUED).update(state=JobState.RUNNING.value, started_at=now)
    return run


def lease_extend(run_id: UUID, token: int, lease: timedelta) -> bool:
    """Keep the run for longer; False when it is no longer ours."""
    return bool(
        StageRun.objects.filter(id=run_id, state=StageState.RUNNING, fencing_token=token).update(
            lease_until=timezone.now() + lease
        )
    )


def _held(run: StageRun) -> tuple[Job, StageRun] | None:
    """The job's and the run's rows, locked, if this worker still holds the run."""
    job = Job.objects.select_for_update().get(id=run.job_id)
    current = StageRun.objects.select_for_update().get(id=run.id)
    if current.state != StageState.RUNNING or current.fencing_token != run.fencing_token:
        return None
    return job, current


def run_finish(run: StageRun, keep: Callable[[StageRun, Any], None], result: object) -> bool:
    """Store what the stage found and make the next runs, in one transaction; False (and nothing written) when the lease was lost."""
    with transaction.atomic():
        held = _held(run)
        if held is None:
            return False
        job, current = held
        if job.state != JobState.RUNNING:
            return False
        keep(current, result)
        current.state, current.lease_until, current.finished_at = StageState.DONE.value, None, timezone.now()
        current.save()
        job.refresh_from_db()
        if job.state == JobState.RUNNING:
            _advance(job, current)
    runs_offer(run.job_id)
    return True


def _advance(job: Job, done: StageRun) -> None:
    """Make the runs that the finished one opens. The job's row lock lets exactly one window open a whole-document stage."""
    names = [stage.name for stage in PIPELINE]
    position = names.index(done.stage)
    if position + 1 == len(PIPELINE):
        return
    following = PIPELINE[position + 1]
    windows = job.build.inspection.get("windows", [])
    if following.by_window:
        own = [(done.first_page, done.last_page)]
        _stage_runs_make(job, following, own if PIPELINE[position].by_window else windows)
        return
    finished = StageRun.objects.filter(job=job, stage=done.stage, state=StageState.DONE).count()
    if not PIPELINE[position].by_window or finished == len(windows):
        _stage_runs_make(job, following, [(0, 0)])


def run_fail(run: StageRun, error: IngestionError, max_attempts: int) -> None:
    """Record why the run failed: again later when that may help and attempts are left, else the job ends with the reason."""
    with transaction.atomic():
        held = _held(run)
        if held is None:
            return
        job, current = held
        current.lease_until, current.reason_code, current.reason = None, error.code, error.message[:500]
        if isinstance(error, NoRoom):
            # The work waits for as long as it takes; attempts are for work that itself fails.
            current.state, current.attempts = StageState.PENDING.value, max(0, current.attempts - 1)
            current.due_at, current.offered_at = timezone.now() + WAIT_FOR_ROOM, None
            current.save()
            return
        if isinstance(error, Transient) and current.attempts < max_attempts:
            pause = min(60.0, 2.0**current.attempts) * random.uniform(0.5, 1.5)
            current.state, current.due_at = StageState.PENDING.value, timezone.now() + timedelta(seconds=pause)
            current.offered_at = None
            current.save()
            return
        current.state, current.finished_at = StageState.FAILED.value, timezone.now()
        current.save()
        end = JobState.QUARANTINED if isinstance(error, Transient) else JobState.FAILED
        _job_end(job, end, code=error.code, reason=error.message, stage=run.stage)
    runs_offer(run.job_id)


def run_release_expired(run_id: UUID, max_attempts: int) -> bool:
    """Give back a run whose lease ran out; a run that took every attempt down with it quarantines its job."""
    with transaction.atomic():
        run = StageRun.objects.select_related("job").get(id=run_id)
        job = Job.objects.select_for_update().get(id=run.job_id)
        run = StageRun.objects.select_for_update().get(id=run_id)
        if run.state != StageState.RUNNING or run.lease_until is None or run.lease_until > timezone.now():
            return False
        run.lease_until, run.offered_at, run.due_at = None, None, timezone.now()
        if run.attempts < max_attempts:
            run.state, run.reason_code, run.reason = StageState.PENDING.value, "worker_lost", "The worker was lost."
            run.save()
        else:
            error: NeedsHuman = failure("attempts_exhausted", "each time the worker was lost")  # type: ignore[assignment]
            run.state, run.finished_at = StageState.FAILED.value, timezone.now()
            run.reason_code, run.reason = error.code, error.message
            run.save()
            _job_end(job, JobState.QUARANTINED, code=error.code, reason=error.message, stage=run.stage)
    runs_offer(run.job_id)
    return True
