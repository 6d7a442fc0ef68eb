"""Jobs found by corpus, state and reason, and how a bulk of them goes on: total, ended, and about how long it will take."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.core.paginator import Page as PaginatedPage
from django.core.paginator import Paginator
from django.db.models import Count, Func, IntegerField, Min, Q, QuerySet
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Coalesce
from django.utils import timezone

from ingestion.domain.lifecycle import JOB_ACTIONS, JobState, StageState
from ingestion.models import Corpus, Job, StageRun
from ingestion.stages import PIPELINE

JOBS_A_PAGE = 50
MEASURED_OVER = timedelta(minutes=15)
MEASURED_FROM = 5  # fewer finished steps than these tell nothing
OPEN = (JobState.QUEUED.value, JobState.RUNNING.value)
CHOICES = ("open", "paused", "ended", *(state.value for state in JobState))


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs: `state` is one of `CHOICES`, `corpus` a slug; empty is every one."""

    corpus: str = ""
    state: str = ""
    reason_code: str = ""
    ids: tuple[UUID, ...] = ()


def jobs_found(corpora: list[Corpus], wanted: JobFilter) -> QuerySet[Job]:
    """The jobs of these corpora that fit, newest first."""
    jobs = Job.objects.filter(document__corpus__in=[c for c in corpora if wanted.corpus in ("", c.slug)])
    if wanted.state == "open":
        jobs = jobs.filter(state__in=OPEN)
    elif wanted.state == "paused":
        jobs = jobs.filter(paused_at__isnull=False)
    elif wanted.state == "ended":
        jobs = jobs.exclude(state__in=OPEN)
    elif wanted.state:
        jobs = jobs.filter(state=wanted.state)
    if wanted.reason_code:
        jobs = jobs.filter(reason_code=wanted.reason_code)
    if wanted.ids:
        jobs = jobs.filter(id__in=wanted.ids)
    return jobs.select_related("document__corpus", "version").order_by("-created_at", "id")


def jobs_page(jobs: QuerySet[Job], page: str | int = 1) -> PaginatedPage:
    """One page of the list."""
    return Paginator(jobs, JOBS_A_PAGE).get_page(page)


def jobs_for(jobs: QuerySet[Job], action: str) -> list[UUID]:
    """Ids of those on which the action is allowed as they stand now."""
    fit = jobs.filter(state__in=[state.value for state in JOB_ACTIONS[action]])
    if action in ("pause", "resume"):
        fit = fit.filter(paused_at__isnull=action == "pause")
    return list(fit.order_by().values_list("id", flat=True))


@dataclass(frozen=True, slots=True)
class BulkProgress:
    """The bulk that is under way: every job made since the oldest open one. `seconds_left` None: not known, or all stands still."""

    total: int
    ended: int
    failed: int
    paused: int
    seconds_left: int | None

    @property
    def open(self) -> int:
        return self.total - self.ended

    @property
    def left_words(self) -> str:
        if self.seconds_left is None:
            return "how long it will take is not known yet" if self.open > self.paused else "paused"
        minutes = -(-self.seconds_left // 60)
        return f"about {minutes} minute{'s' if minutes != 1 else ''} left" if minutes < 120 else f"about {minutes // 60} hours left"


def bulk_progress(corpora: list[Corpus], wanted: JobFilter | None = None) -> BulkProgress | None:
    """How the bulk goes on, or None where nothing is open. The time left follows from the steps finished lately and those to do."""
    slug = wanted.corpus if wanted else ""
    jobs = Job.objects.filter(document__corpus__in=[c for c in corpora if slug in ("", c.slug)])
    since = jobs.filter(state__in=OPEN).aggregate(first=Min("created_at"))["first"]
    if since is None:
        return None
    bulk = jobs.filter(created_at__gte=since)
    counts = bulk.aggregate(
        total=Count("id"),
        ended=Count("id", filter=~Q(state__in=OPEN)),
        failed=Count("id", filter=Q(state__in=[JobState.FAILED, JobState.QUARANTINED])),
        paused=Count("id", filter=Q(paused_at__isnull=False)),
    )
    return BulkProgress(**counts, seconds_left=_seconds_left(bulk))


def _seconds_left(bulk: QuerySet[Job]) -> int | None:
    now = timezone.now()
    finished = StageRun.objects.filter(job__in=bulk, state=StageState.DONE, finished_at__gt=now - MEASURED_OVER)
    measured = finished.aggregate(count=Count("id"), first=Min("started_at"))
    if measured["count"] < MEASURED_FROM or measured["first"] is None:
        return None
    a_second = measured["count"] / max(1.0, (now - max(measured["first"], now - MEASURED_OVER)).total_seconds())
    left = steps_left(bulk.filter(state__in=OPEN, paused_at__isnull=True))
    return round(left / a_second) if left else None


def steps_left(jobs: QuerySet[Job]) -> int:
    """Steps to do of open jobs; a document that has not been looked at is taken to be like the others."""
    by_window = sum(stage.by_window for stage in PIPELINE)
    whole = len(PIPELINE) - by_window
    held = Func(KeyTransform("windows", "build__inspection"), function="jsonb_array_length", output_field=IntegerField())
    counts = list(jobs.order_by().annotate(windows=Coalesce(held, 0)).values("windows").annotate(count=Count("id")))
    seen = {row["windows"]: row["count"] for row in counts if row["windows"]}
    like = round(sum(n * count for n, count in seen.items()) / sum(seen.values())) if seen else 1
    total = sum(row["count"] * (whole + by_window * (row["windows"] or like)) for row in counts)
    return max(0, total - StageRun.objects.filter(job__in=jobs, state=StageState.DONE).count())
