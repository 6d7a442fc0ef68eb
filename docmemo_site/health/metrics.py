"""Prometheus metrics, read from the database at the moment they are asked for. Labels come from bounded sets: queues, stages, states,
reason codes. No metric names a document, a person or a corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

from django.db import DatabaseError, connection, transaction
from django.db.models import Count, Min, QuerySet
from django.utils import timezone
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeHistogramMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from ingestion.domain.errors import DOCUMENT_FAILURES
from ingestion.domain.lifecycle import InboxState, JobState, StageState
from ingestion.models import DeadLetter, InboxEvent, Job, OutboxEvent, StageRun
from ingestion.selectors.queues import intake_lag
from ingestion.stages import PIPELINE
from qa.models import Run, RunState
from qa.selectors.queue import all_queues

RECENT = timedelta(hours=1)
STATEMENT_MS = 3000
BUCKETS = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)
CODES = frozenset(DOCUMENT_FAILURES)
STAGES = tuple(stage.name for stage in PIPELINE)
OPEN = (JobState.QUEUED.value, JobState.RUNNING.value)


def _gauge(name: str, words: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"docmemo_{name}", words, labels=labels)


def _queues() -> Iterator[Metric]:
    depth = _gauge("queue_waiting", "Pieces of work that are due and that no worker has taken.", "queue")
    oldest = _gauge("queue_oldest_seconds", "How long the oldest of them has been due.", "queue")
    running = _gauge("queue_running", "Pieces of work that a worker holds.", "queue")
    workers = _gauge("queue_workers", "Workers heard of lately that listen to the queue.", "queue")
    processes = _gauge("queue_processes", "Their processes.", "queue")
    unattended = _gauge("queue_unattended", "1 when work waits and no worker listens.", "queue")
    for row in all_queues():
        depth.add_metric([row.name], row.waiting)
        oldest.add_metric([row.name], row.oldest_seconds)
        running.add_metric([row.name], row.running)
        workers.add_metric([row.name], row.workers)
        processes.add_metric([row.name], row.processes)
        unattended.add_metric([row.name], float(row.unattended))
    yield from (depth, oldest, running, workers, processes, unattended)


def _jobs() -> Iterator[Metric]:
    jobs = _gauge("jobs_open", "Jobs that have not ended; those that are paused count as paused.", "state")
    counts = dict(
        Job.objects.filter(state__in=OPEN, paused_at__isnull=True).order_by().values_list("state").annotate(count=Count("id"))
    )
    for state in OPEN:
        jobs.add_metric([state], counts.get(state, 0))
    jobs.add_metric(["paused"], Job.objects.filter(paused_at__isnull=False).count())
    yield jobs
    failures = _gauge("jobs_failed_recently", "Jobs that failed or were quarantined within the last hour.", "stage", "code")
    ended = Job.objects.filter(
        state__in=[JobState.FAILED, JobState.QUARANTINED], finished_at__gt=timezone.now() - RECENT
    )
    found: dict[tuple[str, str], int] = {}
    for stage, code, count in ended.order_by().values_list("failed_stage", "reason_code").annotate(count=Count("id")):
        key = (stage if stage in STAGES else "none", code if code in CODES else "other")
        found[key] = found.get(key, 0) + count
    for key, count in sorted(found.items()):
        failures.add_metric(list(key), count)
    yield failures


def _stages() -> Iterator[Metric]:
    durations = GaugeHistogramMetricFamily(
        "docmemo_stage_seconds_recently", "Seconds that stage runs took which were done within the last hour.", labels=["stage"]
    )
    cases = ", ".join(f"count(*) filter (where took <= {bound})" for bound in BUCKETS)
    with connection.cursor() as cursor:
        cursor.execute(
            f"select stage, {cases}, count(*), coalesce(sum(took), 0) from ("
            "select stage, extract(epoch from finished_at - started_at) as took from ingestion_stagerun "
            "where state = 'done' and finished_at > %s and started_at is not null) as ended group by stage order by stage",
            [timezone.now() - RECENT],
        )
        for stage, *counts, total, seconds in cursor.fetchall():
            if stage in STAGES:
                bounds = [*((str(bound), count) for bound, count in zip(BUCKETS, counts, strict=True)), ("+Inf", total)]
                durations.add_metric([stage], bounds, float(seconds))
    yield durations
    leases = _gauge("leases", "Stage runs that a worker holds: in time, or past their lease.", "state")
    held = StageRun.objects.filter(state=StageState.RUNNING)
    expired = held.filter(lease_until__lt=timezone.now()).count()
    leases.add_metric(["running"], held.count() - expired)
    leases.add_metric(["expired"], expired)
    yield leases


def _backlog(name: str, words: str, rows: QuerySet, at: str) -> Iterator[Metric]:
    found = rows.aggregate(count=Count("pk"), oldest=Min(at))
    age = (timezone.now() - found["oldest"]).total_seconds() if found["oldest"] else 0.0
    yield GaugeMetricFamily(f"docmemo_{name}_backlog", words, value=found["count"])
    yield GaugeMetricFamily(f"docmemo_{name}_oldest_seconds", "How long the oldest of them has waited.", value=max(0.0, age))


def _events() -> Iterator[Metric]:
    yield from _backlog("outbox", "Events that are not yet published.", OutboxEvent.objects.filter(published_at__isnull=True), "created_at")
    unsettled = InboxEvent.objects.filter(state__in=[InboxState.RECEIVED, InboxState.WAITING])
    yield from _backlog("inbox", "Events that arrived and are not yet settled.", unsettled, "received_at")
    consumers, lag = intake_lag()
    yield GaugeMetricFamily("docmemo_intake_consumers", "Consumers of events heard of lately.", value=consumers)
    yield GaugeMetricFamily("docmemo_intake_lag", "Messages that wait for them in the broker.", value=lag)
    yield GaugeMetricFamily("docmemo_dead_letters", "Messages that could not be taken in.", value=DeadLetter.objects.count())


def _questions() -> Iterator[Metric]:
    runs = _gauge("questions", "Questions that are open, and those that ended within the last hour.", "state")
    since = timezone.now() - RECENT
    states = Run.objects.order_by().values_list("state").annotate(count=Count("id"))
    counts = dict(states.filter(state__in=[RunState.WAITING, RunState.RUNNING]))
    counts |= dict(states.filter(finished_at__gt=since))
    for state in RunState.values:
        runs.add_metric([state], counts.get(state, 0))
    yield runs


PARTS: tuple[Callable[[], Iterator[Metric]], ...] = (_queues, _jobs, _stages, _events, _questions)


class DatabaseCollector:
    """Asks the database in one short read; when it does not answer, that is the one metric there is."""

    def collect(self) -> Iterator[Metric]:
        """Every metric of `PARTS`, and whether the database answered in time."""
        found: list[Metric] = []
        try:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute(f"set local statement_timeout = {STATEMENT_MS}")
                for part in PARTS:
                    found.extend(part())
        except DatabaseError:
            found = []
        words = "1 when the database answered this request in time."
        yield from (*found, GaugeMetricFamily("docmemo_database_answered", words, value=float(bool(found))))


def exposition() -> tuple[bytes, str]:
    """The metrics as Prometheus reads them, and their content type."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(DatabaseCollector())
    return generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4
