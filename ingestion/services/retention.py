"""What is kept for a time only: superseded builds, stage runs of finished jobs, settled events, pictures of no build.

Each service takes one batch in one transaction, with its entry in the audit chain, and says how many it took; the caller goes on until
that is none. What was done stays done when a run is cut off. Everything is looked at again under the locks that publishing and deletion
take, so workers may go on meanwhile.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from ingestion.domain.lifecycle import BuildState, InboxState, JobState
from ingestion.models import (
    Block,
    Build,
    BuildAccessCount,
    BuildLiveness,
    DeadLetter,
    Document,
    InboxEvent,
    Job,
    MultiVector,
    Organisation,
    OutboxEvent,
    Page,
    PageText,
    Passage,
    PassageVector,
    PooledVector,
    Posting,
    SchemaFact,
    StageRun,
)
from ingestion.seams import load
from ingestion.services.audit import audit_append

BATCH = 500


def retention_record(
    *, organisation: Organisation | None, kind: str, count: int, before: datetime | None, actor: str, **body: object
) -> None:
    """One entry for a batch, in the caller's transaction; what belongs to no organisation is recorded in the chain of each."""
    for one in [organisation] if organisation else Organisation.objects.order_by("slug"):
        audit_append(
            organisation=one, act="retention.applied", subject=kind, actor=actor,
            body={"count": count, "before": before.isoformat() if before else None, **body},
        )  # fmt: skip


# --- what would go: read only ----------------------------------------------------------------------------


def builds_old(organisation: Organisation, before: datetime) -> QuerySet[Build]:
    """Superseded and withdrawn builds, last live (or made) before then, that no job works on and no row outside of ingestion names.

    An answer names the builds of its citations: these are kept until the question itself is forgotten.
    """
    builds = Build.objects.filter(document__organisation=organisation, state__in=[BuildState.SUPERSEDED, BuildState.WITHDRAWN])
    of_build = BuildLiveness.objects.filter(build=OuterRef("pk"))
    builds = builds.filter(created_at__lt=before)
    builds = builds.exclude(Exists(of_build.filter(Q(live_to__isnull=True) | Q(live_to__gte=before))))
    builds = builds.exclude(Exists(Job.objects.filter(build=OuterRef("pk"), state__in=[JobState.QUEUED, JobState.RUNNING])))
    for relation in Build._meta.get_fields(include_hidden=True):
        if relation.one_to_many and relation.related_model._meta.app_label != "ingestion":
            named = relation.related_model._default_manager.filter(**{relation.field.name: OuterRef("pk")})
            builds = builds.exclude(Exists(named))
    return builds.exclude(Exists(Document.objects.filter(live_build=OuterRef("pk")))).order_by("id")


def stage_runs_old(organisation: Organisation, before: datetime) -> QuerySet[StageRun]:
    """Stage runs of jobs that ended well before then; those of other jobs are evidence, and a retry needs them."""
    ended = [JobState.PUBLISHED, JobState.SUPERSEDED]
    return StageRun.objects.filter(job__organisation=organisation, job__state__in=ended, job__finished_at__lt=before)


def inbox_old(organisation: Organisation, before: datetime, dead: bool = False) -> QuerySet[InboxEvent]:
    """Settled events. One that comes again later has no effect, since its revision is not newer; dead ones only with `dead`."""
    states = [InboxState.DEAD] if dead else [InboxState.APPLIED, InboxState.STALE]
    return InboxEvent.objects.filter(source__organisation=organisation, state__in=states, settled_at__lt=before)


def outbox_old(before: datetime) -> QuerySet[OutboxEvent]:
    """Rows that were published before then."""
    return OutboxEvent.objects.filter(published_at__lt=before)


def dead_letters_old(before: datetime) -> QuerySet[DeadLetter]:
    """Dead letters kept before then."""
    return DeadLetter.objects.filter(created_at__lt=before)


def pictures_of_no_build(organisation: Organisation) -> list[str]:
    """Keys of page pictures whose build is gone: its row is made before its first picture, so none is still to come."""
    found: dict[str, list[str]] = {}
    for key in load("blobs").keys(f"{organisation.id}/pages/"):
        found.setdefault(key.split("/")[2], []).append(key)
    named = [name for name in found if _is_id(name)]
    held = {str(one) for one in Build.objects.filter(id__in=named).values_list("id", flat=True)}
    return [key for name in named if name not in held for key in found[name]]


def _is_id(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


# --- taking it away -----------------------------------------------------------------------------------------


@transaction.atomic
def build_forget(*, organisation: Organisation, before: datetime, actor: str) -> int:
    """Delete the oldest superseded build with its pages and their pictures, and the jobs that made it; 1, or 0 when none is left."""
    candidate = builds_old(organisation, before).values_list("id", "document_id").first()
    if candidate is None:
        return 0
    Document.objects.select_for_update().get(id=candidate[1])
    build = builds_old(organisation, before).filter(id=candidate[0]).first()
    if build is None:  # it was made live again just now
        return 1
    keys = list(Page.objects.filter(build=build).exclude(image_key="").values_list("image_key", flat=True))
    pages = Page.objects.filter(build=build).count()
    number, build_id = build.version.number, str(build.id)
    build_rows_delete(build)
    retention_record(
        organisation=organisation, kind="superseded_builds", count=1, before=before, actor=actor,
        build=build_id, document=str(candidate[1]), version=number, pages=pages,
    )  # fmt: skip
    # A picture that outlives a crash here is found as one of no build.
    transaction.on_commit(lambda: _pictures_delete(keys))
    return 1


def build_rows_delete(build: Build) -> None:
    """Delete a build with all that rests on it, the large tables first and by themselves. The caller holds the document's row lock."""
    for model in (PassageVector, PooledVector, MultiVector, Posting, BuildAccessCount):
        model.objects.filter(build=build).delete()
    for model in (SchemaFact, Block, PageText):
        model.objects.filter(page__build=build).delete()
    Passage.objects.filter(build=build).delete()
    build.delete()


def _pictures_delete(keys: list[str]) -> None:
    for key in keys:
        load("blobs").delete(key)


@transaction.atomic
def stage_runs_forget(*, organisation: Organisation, before: datetime, actor: str, limit: int = BATCH) -> int:
    """Delete a batch of stage runs; the job, its end and its reason stay."""
    return _take(stage_runs_old(organisation, before), "stage_runs", organisation, before, actor, limit)


@transaction.atomic
def inbox_forget(*, organisation: Organisation, before: datetime, actor: str, dead: bool = False, limit: int = BATCH) -> int:
    """Delete a batch of settled events; dead ones only with `dead`."""
    return _take(inbox_old(organisation, before, dead), "dead_events" if dead else "inbox", organisation, before, actor, limit)


@transaction.atomic
def outbox_forget(*, before: datetime, actor: str, limit: int = BATCH) -> int:
    """Delete a batch of published outbox rows; the heads of the audit chain stay in their files."""
    return _take(outbox_old(before), "outbox", None, before, actor, limit)


@transaction.atomic
def dead_letters_forget(*, before: datetime, actor: str, limit: int = BATCH) -> int:
    """Delete a batch of dead letters with what they hold."""
    return _take(dead_letters_old(before), "dead_letters", None, before, actor, limit)


def pictures_forget(*, organisation: Organisation, actor: str, limit: int = BATCH) -> int:
    """Delete a batch of pictures of no build. The entry comes first: a deletion is never unrecorded."""
    keys = pictures_of_no_build(organisation)[:limit]
    if keys:
        with transaction.atomic():
            retention_record(organisation=organisation, kind="abandoned_pictures", count=len(keys), before=None, actor=actor)
        _pictures_delete(keys)
    return len(keys)


def _take(
    rows: QuerySet, kind: str, organisation: Organisation | None, before: datetime, actor: str, limit: int
) -> int:
    """Delete a batch of rows that nobody holds, and record it."""
    ids = list(rows.select_for_update(skip_locked=True, of=("self",)).order_by("id").values_list("id", flat=True)[:limit])
    if ids:
        rows.model._default_manager.filter(id__in=ids).delete()
        retention_record(organisation=organisation, kind=kind, count=len(ids), before=before, actor=actor)
    return len(ids)
