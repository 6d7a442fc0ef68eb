"""What people do to jobs, one or many: pause, resume, cancel, retry, retry from a stage. Which is allowed when stands in `JOB_ACTIONS`.

Each act checks, changes, and writes its audit entry in one transaction; many jobs are worked in chunks, each a transaction with one
entry that names its jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from ingestion.domain.lifecycle import BuildState, JobState, StageState, may_act
from ingestion.models import Job, StageRun
from ingestion.services.audit import audit_append
from ingestion.services.jobs import OPEN, build_reopen, job_end, stage_runs_make
from ingestion.services.offers import runs_offer_after_commit
from ingestion.stages import PIPELINE

CHUNK = 100
STAGE_NAMES = tuple(stage.name for stage in PIPELINE)


def job_pause(*, job: Job, actor: str) -> bool:
    """Offer and claim nothing more of an open job; what a worker holds is finished. Returns whether the job could be paused."""
    return jobs_pause(job_ids=[job.id], actor=actor) == 1


def job_resume(*, job: Job, actor: str) -> bool:
    """Go on with a paused job. Returns whether it was paused."""
    return jobs_resume(job_ids=[job.id], actor=actor) == 1


def job_cancel(*, job: Job, actor: str) -> bool:
    """Stop a job that is not finished; the live version stays as it is."""
    return jobs_cancel(job_ids=[job.id], actor=actor) == 1


def job_retry(*, job: Job, actor: str, from_stage: str = "") -> bool:
    """Go on from the stage that failed, or do `from_stage` and all after it again. Returns whether the job could be retried."""
    return jobs_retry(job_ids=[job.id], actor=actor, from_stage=from_stage) == 1


def jobs_pause(*, job_ids: Sequence[UUID], actor: str) -> int:
    """Pause those of the jobs that can be; returns how many."""
    return _act("pause", _pause, job_ids, lambda jobs: _note(jobs, act="job.paused", actor=actor))


def jobs_resume(*, job_ids: Sequence[UUID], actor: str) -> int:
    """Resume those of the jobs that are paused; returns how many."""
    return _act("resume", _resume, job_ids, lambda jobs: _note(jobs, act="job.resumed", actor=actor))


def jobs_cancel(*, job_ids: Sequence[UUID], actor: str) -> int:
    """Cancel those of the jobs that are open; returns how many."""
    return _act("cancel", _cancel, job_ids, lambda jobs: _note(jobs, act="job.cancelled", actor=actor))


def jobs_retry(*, job_ids: Sequence[UUID], actor: str, from_stage: str = "") -> int:
    """Retry those of the jobs that can be; returns how many. Raises ValueError for a stage that there is not."""
    if from_stage and from_stage not in STAGE_NAMES:
        raise ValueError(f"There is no stage {from_stage}; there are {', '.join(STAGE_NAMES)}.")
    again = partial(_retry, from_stage=from_stage)
    return _act("retry", again, job_ids, lambda jobs: _note(jobs, act="job.retried", actor=actor, from_stage=from_stage))


def _act(
    action: str, change: Callable[[Job], bool], job_ids: Sequence[UUID], note: Callable[[list[Job]], None]
) -> int:
    done = 0
    wanted = sorted(set(job_ids))
    for start in range(0, len(wanted), CHUNK):
        with transaction.atomic():
            # in the order of their keys, so that two people at once do not wait for each other in a circle
            jobs = Job.objects.select_for_update(of=("self",)).filter(id__in=wanted[start : start + CHUNK]).order_by("id")
            changed = [
                job
                for job in jobs.select_related("document", "version", "build", "organisation")
                if may_act(action, JobState(job.state), job.paused_at is not None) and change(job)
            ]
            if changed:
                note(changed)
            done += len(changed)
    return done


def _note(jobs: list[Job], *, act: str, actor: str, **body: str) -> None:
    """One entry for each organisation of the chunk: of one job it is the subject, of many they stand in the body."""
    for organisation in {job.organisation for job in jobs}:
        ids = [str(job.id) for job in jobs if job.organisation_id == organisation.id]
        subject = ids[0] if len(ids) == 1 else f"{len(ids)} jobs"
        many = {"jobs": ids} if len(ids) > 1 else {}
        audit_append(organisation=organisation, act=act, subject=subject, actor=actor, body={**body, **many})


def _pause(job: Job) -> bool:
    job.paused_at = timezone.now()
    job.save(update_fields=["paused_at"])
    return True


def _resume(job: Job) -> bool:
    job.paused_at = None
    job.save(update_fields=["paused_at"])
    # what the broker gave out meanwhile was refused: it does not hold it any more
    StageRun.objects.filter(job=job, state=StageState.PENDING).update(offered_at=None)
    runs_offer_after_commit(job.id)
    return True


def _cancel(job: Job) -> bool:
    job_end(job, JobState.CANCELLED, code="cancelled", reason="A person cancelled the job.")
    return True


def _retry(job: Job, from_stage: str) -> bool:
    if job.document.deleted_at is not None or job.document.versions.filter(number__gt=job.version.number).exists():
        return False
    if job.build.state not in (BuildState.BUILDING, BuildState.FAILED):
        return False  # it was withdrawn, or another job has made it live meanwhile
    if Job.objects.filter(document_id=job.document_id, state__in=OPEN).exists():
        return False
    if from_stage and not _begin_at(job, from_stage):
        return False
    build_reopen(job.build)
    job.state, job.reason_code, job.reason, job.failed_stage, job.finished_at = JobState.QUEUED.value, "", "", "", None
    job.save()
    StageRun.objects.filter(job=job, state__in=[StageState.FAILED, StageState.CANCELLED]).update(
        state=StageState.PENDING.value, attempts=0, due_at=timezone.now(), offered_at=None, finished_at=None,
        reason="", reason_code="",
    )  # fmt: skip
    runs_offer_after_commit(job.id)
    return True


def _begin_at(job: Job, name: str) -> bool:
    """Make the runs of this stage anew and forget all after it; False when what goes before it is not done."""
    position = STAGE_NAMES.index(name)
    stage, windows = PIPELINE[position], job.build.inspection.get("windows", [])
    if position:
        before = PIPELINE[position - 1]
        done = job.stage_runs.filter(stage=before.name, state=StageState.DONE).count()
        if done < (len(windows) or 1 if before.by_window else 1):
            return False
    job.stage_runs.filter(stage__in=STAGE_NAMES[position:]).delete()
    stage_runs_make(job, stage, [tuple(window) for window in windows] if stage.by_window else [(0, 0)])
    return True
