"""One transaction moves the live pointer; a reader never sees both builds, and never neither."""

from __future__ import annotations

from django.db import connection
from django.utils import timezone

from ingestion.domain.events import OutcomeType
from ingestion.domain.lifecycle import BuildState, JobState
from ingestion.models import Build, BuildLiveness, Document, Job, StageRun
from ingestion.services.access import build_classes_apply, counts_write
from ingestion.services.audit import audit_append
from ingestion.services.outcomes import document_outcome_announce
from ingestion.stages.publish import Checked

EPOCH_SQL = """
insert into ingestion_corpusepoch (corpus_id, epoch) values (%s, 1)
on conflict (corpus_id) do update set epoch = ingestion_corpusepoch.epoch + 1
returning epoch
"""


def version_publish(run_row: StageRun, result: Checked) -> None:
    """Move the pointer, unless a newer version is live or the document was deleted meanwhile: then the job is superseded."""
    job = run_row.job
    document = Document.objects.select_for_update().get(id=job.document_id)
    build = Build.objects.select_for_update().get(id=job.build_id)
    now = timezone.now()
    newer = document.live_version is not None and document.live_version.number > job.version.number
    if newer or document.deleted_at is not None:
        build.state = BuildState.WITHDRAWN.value
        build.save(update_fields=["state"])
        job.state, job.reason_code = JobState.SUPERSEDED.value, "superseded"
        job.reason = "A newer version is live, or the document was deleted."
        job.finished_at, job.paused_at = now, None
        job.save()
        return
    build_classes_apply(build)
    counts_write(build)
    previous = document.live_build
    held = BuildLiveness.objects.filter(document=document, live_to__isnull=True).first()
    if previous is not None:
        Build.objects.filter(id=previous.id).update(state=BuildState.SUPERSEDED.value)
        BuildLiveness.objects.filter(document=document, live_to__isnull=True).update(live_to=now)
    build.state, build.published_at = BuildState.LIVE.value, now
    build.warnings = [*build.warnings, *(w for w in result.warnings if w not in build.warnings)]
    build.save()
    document.live_version, document.live_build = job.version, build
    document.save()
    job.state, job.finished_at, job.paused_at = JobState.PUBLISHED.value, now, None
    job.save()
    _announce(document, job, build, previous)
    epoch = held.epoch if held and previous.version_id == build.version_id else _epoch_next(document)
    BuildLiveness.objects.create(document=document, build=build, live_from=now, epoch=epoch)


def _epoch_next(document: Document) -> int:
    """The corpus's next epoch. Its row is locked until the transaction ends, so this is the last thing that a publication does."""
    with connection.cursor() as cursor:
        cursor.execute(EPOCH_SQL, [document.corpus_id])
        return cursor.fetchone()[0]


def _announce(document: Document, job: Job, build: Build, previous: Build | None) -> None:
    document_outcome_announce(document, OutcomeType.PUBLISHED, version=job.version.number, build=str(build.id))
    if previous is not None:
        document_outcome_announce(document, OutcomeType.SUPERSEDED, version=previous.version.number, build=str(previous.id))
    audit_append(
        organisation=job.organisation, act="document.version.published", subject=str(document.id), actor="pipeline",
        body={
            "document": str(document.id), "version": job.version.number, "build": str(build.id),
            "content_sha256": job.version.content_sha256, "fingerprint": build.fingerprint, "pages": build.page_count,
        },
    )  # fmt: skip
