"""A job as a person watches it: its stages, how far each is, and in words why it waits or failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

from django.utils import timezone

from ingestion.domain.errors import DOCUMENT_FAILURES
from ingestion.domain.lifecycle import JobState, StageState
from ingestion.models import Job, StageRun
from ingestion.selectors.queues import queue_rows
from ingestion.stages import PIPELINE

PATIENCE = timedelta(seconds=45)
EVIDENCE = ("attempt", "at", "worker", "code", "reason", "signal")
STAGE_WORDS = {
    "inspect": "Look at the file: type, pages, outline",
    "render": "Draw a picture of each page",
    "read": "Read text with its places, tables and headings",
    "embed": "Make vectors of the passages",
    "describe": "Describe the document: language, sections, page roles",
    "publish": "Make this version the live one",
}


@dataclass(frozen=True, slots=True)
class StageRow:
    """One stage: `done` of `total` windows of pages; `state` is waiting, working, done, failed, stopped or unreached."""

    name: str
    words: str
    queue: str
    state: str
    total: int
    done: int
    running: int
    attempts: int
    reason: str
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """What is kept of an attempt that failed; `signal` is the one that ended its process, where that is known."""

    stage: str
    pages: str
    attempt: int
    at: str
    worker: str
    code: str
    reason: str
    signal: int | None


@dataclass(frozen=True, slots=True)
class JobView:
    """`waiting` says why nothing moves, where that is so; `token` changes when anything that is shown does."""

    id: UUID
    state: str
    open: bool
    retriable: bool
    version: int
    page_count: int | None
    failed_stage: str
    reason_code: str
    reason: str
    advice: str
    stages: tuple[StageRow, ...]
    done: int
    total: int
    waiting: str
    paused: bool
    evidence: tuple[EvidenceRow, ...]
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def token(self) -> str:
        return sha256(repr(self).encode()).hexdigest()[:16]


def job_view(job: Job) -> JobView:
    """The job with its stages in the order of the pipeline."""
    runs = list(StageRun.objects.filter(job=job).order_by("first_page", "id"))
    is_open = job.state in (JobState.QUEUED, JobState.RUNNING)
    windows = len(job.build.inspection.get("windows", [])) or 1
    stages = tuple(
        _stage_row(stage.name, stage.queue, windows if stage.by_window else 1, [r for r in runs if r.stage == stage.name], is_open)
        for stage in PIPELINE
    )
    newest = job.document.versions.order_by("-number").values_list("number", flat=True).first()
    return JobView(
        id=job.id,
        state=job.state,
        open=is_open,
        retriable=job.state in (JobState.FAILED, JobState.QUARANTINED, JobState.CANCELLED)
        and job.document.deleted_at is None
        and job.version.number == newest,
        version=job.version.number,
        page_count=job.build.page_count,
        failed_stage=job.failed_stage,
        reason_code=job.reason_code,
        reason=job.reason,
        advice=_advice(job),
        stages=stages,
        done=sum(stage.done for stage in stages),
        total=sum(stage.total for stage in stages),
        waiting=_why_waiting(job, runs) if is_open else "",
        paused=job.paused_at is not None,
        evidence=tuple(_evidence(runs)),
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
    )


def _evidence(runs: Sequence[StageRun]) -> Iterator[EvidenceRow]:
    """Attempts that failed; a single one that no signal ended is told by its stage already."""
    kept = [one for run in runs for one in run.evidence]
    if len(kept) == 1 and kept[0].get("signal") is None:
        return
    for run in runs:
        pages = f"{run.first_page} to {run.last_page}" if run.first_page else ""
        for kept in run.evidence:
            yield EvidenceRow(run.stage, pages, **{name: kept.get(name) for name in EVIDENCE})


def _stage_row(name: str, queue: str, total: int, runs: Sequence[StageRun], is_open: bool) -> StageRow:
    states = [run.state for run in runs]
    done = states.count(StageState.DONE)
    if StageState.FAILED in states:
        state = "failed"
    elif StageState.CANCELLED in states:
        state = "stopped"
    elif done >= total:
        state = "done"
    elif StageState.RUNNING in states or done:
        state = "working"
    else:
        state = "waiting" if is_open else "unreached"
    troubled = next((run for run in runs if run.reason), None)
    begun = [run.started_at for run in runs if run.started_at]
    ended = [run.finished_at for run in runs if run.finished_at]
    return StageRow(
        name=name,
        words=STAGE_WORDS.get(name, name),
        queue=queue,
        state=state,
        total=total,
        done=done,
        running=states.count(StageState.RUNNING),
        attempts=max((run.attempts for run in runs), default=0),
        reason=_with_pages(troubled) if troubled else "",
        started_at=min(begun, default=None),
        finished_at=max(ended, default=None) if state in ("done", "failed", "stopped") else None,
    )


def _with_pages(run: StageRun) -> str:
    pages = f"Pages {run.first_page} to {run.last_page}: " if run.first_page else ""
    return f"{pages}{run.reason}"


def _advice(job: Job) -> str:
    """The sentence that goes with the reason code, unless the reason itself says it."""
    sentence = DOCUMENT_FAILURES[job.reason_code][1] if job.reason_code in DOCUMENT_FAILURES else ""
    return "" if sentence and sentence in job.reason else sentence


def _why_waiting(job: Job, runs: Sequence[StageRun]) -> str:
    """Why nothing moves: a queue that nobody listens to looks otherwise like one that is merely long."""
    now = timezone.now()
    if job.paused_at is not None:
        held = " What a worker holds is finished first." if any(run.state == StageState.RUNNING for run in runs) else ""
        return f"The job is paused since {job.paused_at:%H:%M} UTC.{held}"
    if any(run.state == StageState.RUNNING for run in runs):
        return ""
    pending = [run for run in runs if run.state == StageState.PENDING]
    if not pending:
        return ""
    first = min(pending, key=lambda run: run.due_at)
    if first.due_at > now:
        return f"The stage {first.stage} is tried again at {first.due_at:%H:%M:%S} UTC."
    unattended = next((row.statement for row in queue_rows() if row.name == first.queue and row.unattended), "")
    if unattended:
        return unattended
    if now - first.due_at < PATIENCE:
        return ""
    since = f"{first.due_at:%H:%M} UTC"
    busy = StageRun.objects.filter(queue=first.queue, state=StageState.RUNNING).exclude(job_id=first.job_id).count()
    if busy:
        return f"The stage {first.stage} waits behind other work since {since}."
    return f"No worker has taken the stage {first.stage} since {since}, though one listens to the queue {first.queue}."
