"""Jobs: a version's way through the pipeline, from its first stage run to its end, whatever dies on the way.

A stage run is claimed by a conditional UPDATE (lease, fencing token, attempt count). What a stage found is stored in one transaction
that holds the run's row and checks the token: a worker whose lease was lost writes nothing. The same transaction makes the next runs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from ingestion.domain.errors import IngestionError, NoRoom, Transient, failure
from ingestion.domain.events import OutcomeType
from ingestion.domain.lifecycle import BuildState, JobState, StageState
from ingestion.models import Build, BuildLiveness, Document, DocumentVersion, Job, StageRun
from ingestion.services.audit import audit_append
from ingestion.services.offers import runs_offer, runs_offer_after_commit
from ingestion.services.outcomes import document_outcome_announce
from ingestion.stages import PIPELINE, Stage

OPEN = (JobState.QUEUED, JobState.RUNNING)
EVIDENCE_KEPT = 10
WAIT_FOR_ROOM_SECONDS = 30.0


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
    open_job = Job.objects.filter(build=build, state__in=OPEN).first()
    if open_job is not None:
        return open_job
    if not made:
        build_reopen(build)
    for older in Job.objects.filter(document=document, state__in=OPEN).exclude(build=build):
        job_end(older, JobState.SUPERSEDED, code="superseded", reason="A newer version of the document arrived.")
    job = Job.objects.create(organisation_id=document.organisation_id, document=document, version=version, build=build)
    stage_runs_make(job, PIPELINE[0], [(0, 0)])
    runs_offer_after_commit(job.id)
    return job


def build_reopen(build: Build) -> None:
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
    for job in Job.objects.filter(document=document, state__in=OPEN):
        job_end(job, JobState.CANCELLED, code="deleted", reason="The document was deleted.")
    BuildLiveness.objects.filter(document=document, live_to__isnull=True).update(live_to=timezone.now())
    document.live_build = document.live_version = None
    document.save(update_fields=["live_build", "live_version"])
    Build.objects.filter(document=document).exclude(state=BuildState.WITHDRAWN).update(state=BuildState.WITHDRAWN.value)
    document_outcome_announce(document, OutcomeType.WITHDRAWN)


def job_end(job: Job, state: JobState, *, code: str = "", reason: str = "", stage: str = "") -> None:
    """The job ends in this state with its open runs and its build. The caller holds the job's row, or the document's."""
    job.state, job.reason_code, job.reason, job.failed_stage = state.value, code, reason[:500], stage
    job.finished_at, job.paused_at = timezone.now(), None
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


# --- runs: made, claimed, finished, failed -----------------------------------------------------------


def stage_runs_make(job: Job, stage: Stage, windows: Sequence[tuple[int, int]]) -> None:
    """A pending run of the stage for each window; those that are there stay as they are."""
    now = timezone.now()
    StageRun.objects.bulk_create(
        [
            StageRun(job=job, stage=stage.name, first_page=first, last_page=last, queue=stage.queue, due_at=now)
            for first, last in windows
        ],
        ignore_conflicts=True,
    )


def run_claim(run_id: UUID, worker: str, lease: timedelta) -> StageRun | None:
    """Take the run under a new fencing token, or None when it is not to be had. Nothing of a paused job is."""
    now = timezone.now()
    taken = StageRun.objects.filter(
        id=run_id, state=StageState.PENDING, due_at__lte=now, job__state__in=OPEN, job__paused_at__isnull=True
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


def _locked(run: StageRun) -> tuple[Job, StageRun] | None:
    """The job's and the run's rows, locked while the run is at work; None when it is not, or is gone."""
    job = Job.objects.select_for_update().filter(id=run.job_id).first()
    current = StageRun.objects.select_for_update().filter(id=run.id).first()
    if job is None or current is None or current.state != StageState.RUNNING:
        return None
    return job, current


def _held(run: StageRun) -> tuple[Job, StageRun] | None:
    """The rows, locked, if this worker still holds the run."""
    held = _locked(run)
    return held if held is not None and held[1].fencing_token == run.fencing_token else None


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
        stage_runs_make(job, following, own if PIPELINE[position].by_window else windows)
        return
    finished = StageRun.objects.filter(job=job, stage=done.stage, state=StageState.DONE).count()
    if not PIPELINE[position].by_window or finished == len(windows):
        stage_runs_make(job, following, [(0, 0)])


def run_fail(run: StageRun, error: IngestionError, max_attempts: int) -> None:
    """Record why the run failed: again later when that may help and attempts are left, else the job ends with the reason."""
    with transaction.atomic():
        held = _held(run)
        if held is None:
            return
        job, current = held
        if isinstance(error, NoRoom):
            # The work waits for as long as it takes; attempts are for work that itself fails.
            current.attempts = max(0, current.attempts - 1)
            _give_up(job, current, error, again_in=WAIT_FOR_ROOM_SECONDS)
            return
        again = isinstance(error, Transient) and current.attempts < max_attempts
        pause = min(60.0, 2.0**current.attempts) * random.uniform(0.5, 1.5)
        _give_up(job, current, error, again_in=pause if again else None)
    runs_offer(run.job_id)


def run_lost(run_id: UUID, worker: str, error: IngestionError, max_attempts: int, signal: int | None = None) -> bool:
    """The process that held the run is gone: again at once while attempts are left, else the job is quarantined with the true reason.

    Nothing happens when `worker` is not who holds the run now.
    """
    with transaction.atomic():
        run = StageRun.objects.filter(id=run_id).first()
        held = _locked(run) if run is not None else None
        if held is None or held[1].worker != worker:
            return False
        job, current = held
        _give_up(job, current, error, again_in=0.0 if current.attempts < max_attempts else None, signal=signal)
    runs_offer(job.id)
    return True


def run_release_expired(run_id: UUID, max_attempts: int) -> bool:
    """Give back a run whose lease ran out; a run that took every attempt down with it quarantines its job."""
    with transaction.atomic():
        run = StageRun.objects.filter(id=run_id).first()
        held = _locked(run) if run is not None else None
        if held is None or held[1].lease_until is None or held[1].lease_until > timezone.now():
            return False
        job, current = held
        if current.attempts < max_attempts:
            _give_up(job, current, failure("worker_lost"), again_in=0.0)
        else:
            _give_up(job, current, failure("attempts_exhausted", "each time the worker was lost"), again_in=None)
    runs_offer(job.id)
    return True


def _give_up(job: Job, run: StageRun, error: IngestionError, *, again_in: float | None, signal: int | None = None) -> None:
    """This attempt is over: its evidence is kept, and the run is due again after the pause, or the job ends."""
    now = timezone.now()
    seen = {
        "attempt": run.attempts, "at": now.isoformat(timespec="seconds"), "worker": run.worker,
        "code": error.code, "reason": error.message[:200], "signal": signal,
    }  # fmt: skip
    run.evidence = [*run.evidence, seen][-EVIDENCE_KEPT:]
    run.lease_until, run.reason_code, run.reason = None, error.code, error.message[:500]
    if again_in is not None:
        run.state, run.due_at, run.offered_at = StageState.PENDING.value, now + timedelta(seconds=again_in), None
        run.save()
        return
    run.state, run.finished_at = StageState.FAILED.value, now
    run.save()
    gave_out = isinstance(error, Transient) or error.code == "attempts_exhausted"
    end = JobState.QUARANTINED if gave_out else JobState.FAILED
    job_end(job, end, code=error.code, reason=error.message, stage=run.stage)


def job_end_stranded(job_id: UUID) -> bool:
    """End an open job of which no run is left to do; no way leads there, and were there one, nobody else would ever end it."""
    with transaction.atomic():
        job = Job.objects.select_for_update().get(id=job_id)
        if job.state not in OPEN or job.stage_runs.filter(state__in=[StageState.PENDING, StageState.RUNNING]).exists():
            return False
        error = failure("stranded")
        job_end(job, JobState.QUARANTINED, code=error.code, reason=error.message)
    return True
