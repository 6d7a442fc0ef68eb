"""How far each handed-in document has come, for the person who handed it in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from ingestion.domain.events import EventType
from ingestion.domain.lifecycle import InboxState, JobState, StageState
from ingestion.models import Document, InboxEvent, Job, StageRun
from ingestion.stages import PIPELINE

ENDS = ("published", "failed", "quarantined", "deleted")
WARNING_WORDS = {"no_text_found": "no_text_found: no text could be read on any page; it can only be found by its pictures"}


@dataclass(frozen=True, slots=True)
class Progress:
    """`state` is one of sent, received, queued, running, published, failed, quarantined, deleted; `done` of `total` stage runs."""

    event_id: UUID
    state: str
    document: UUID | None = None
    version: int | None = None
    reason: str = ""
    pages: int | None = None
    done: int = 0
    total: int = 0
    stage: str = ""

    @property
    def ended(self) -> bool:
        return self.state in ENDS


def submissions_progress(event_ids: Sequence[UUID]) -> list[Progress]:
    """The progress of each event, in order."""
    inbox = {
        UUID(event.event_id): event
        for event in InboxEvent.objects.filter(event_id__in=[str(event_id) for event_id in event_ids])
    }
    return [_progress(event_id, inbox.get(event_id)) for event_id in event_ids]


def _progress(event_id: UUID, event: InboxEvent | None) -> Progress:
    if event is None:
        return Progress(event_id, "sent")
    if event.state == InboxState.DEAD:
        return Progress(event_id, "failed", reason=event.reason)
    if event.state in (InboxState.RECEIVED, InboxState.WAITING):
        return Progress(event_id, "received", reason=event.reason)
    document = Document.objects.select_related("live_version", "live_build").get(
        corpus__slug=event.corpus_slug, corpus__organisation_id=event.source.organisation_id, external_id=event.external_id
    )
    if event.type == EventType.DELETED:
        return Progress(event_id, "deleted", document.id)
    if document.deleted_at is not None:
        return Progress(event_id, "failed", document.id, reason="deleted: the document was deleted meanwhile")
    newest = document.versions.order_by("-number").first()
    job = Job.objects.filter(document=document, version=newest).select_related("build").order_by("-created_at").first()
    if newest is None or job is None:
        return Progress(event_id, "failed", document.id, reason="no content arrived")
    if job.state == JobState.PUBLISHED and document.live_version_id == newest.id:
        warnings = [WARNING_WORDS[w] for w in job.build.warnings if w in WARNING_WORDS]
        return Progress(event_id, "published", document.id, newest.number, "; ".join(warnings), job.build.page_count)
    if job.state in (JobState.QUEUED, JobState.RUNNING):
        return _under_way(event_id, document, newest.number, job)
    state = job.state if job.state in ENDS and job.state != JobState.PUBLISHED else "failed"
    reason = f"{job.reason_code}: {job.reason}" if job.reason_code else job.state
    return Progress(event_id, state, document.id, newest.number, reason, job.build.page_count)


def _under_way(event_id: UUID, document: Document, version: int, job: Job) -> Progress:
    windows = len(job.build.inspection.get("windows", [])) or 1
    total = sum(windows if stage.by_window else 1 for stage in PIPELINE)
    runs = StageRun.objects.filter(job=job)
    done = runs.filter(state=StageState.DONE).count()
    current = runs.filter(state__in=[StageState.RUNNING, StageState.PENDING]).order_by("id").first()
    return Progress(
        event_id, job.state, document.id, version, pages=job.build.page_count, done=done, total=total,
        stage=current.stage if current else "",
    )  # fmt: skip
