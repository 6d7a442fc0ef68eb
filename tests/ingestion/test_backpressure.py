"""Fairness and bounds: a large document does not starve small ones, and the broker is given no more than it has room for."""

from __future__ import annotations

from uuid import UUID

from django.conf import LazySettings

from ingestion.models import Document, Job, StageRun
from ingestion.services import offers
from ingestion.services.pipeline import stage_run_execute
from tests.ingestion.fakes import Workbench
from workers.sweeper import sweep

PAGES, SMALL = 5000, 20


def test_a_large_document_ahead_does_not_starve_small_ones(bench: Workbench, settings: LazySettings) -> None:
    settings.PIPELINE = {**settings.PIPELINE, "PAGE_WINDOW": 25}
    bench.submit("\f".join(f"page {number}" for number in range(PAGES)), "large.pdf")
    bench.deliver()
    large = bench.newest_job()
    bench.work(limit=1)  # it was looked at before the others came: its windows stand ahead of them
    for number in range(SMALL):
        bench.submit(f"one small page {number}", f"{number}.pdf")
    bench.deliver()
    of_the_large, done = 0, 0
    while Job.objects.filter(state="published").count() < SMALL and done < 1000:
        task = bench.queue.take()
        run = StageRun.objects.get(id=UUID(task[1][0]))
        of_the_large += run.job_id == large.id
        assert StageRun.objects.filter(job=large, offered_at__isnull=False, state="pending").count() <= offers.WINDOWS_IN_FLIGHT
        stage_run_execute(run.id, "test")
        done += 1
    # each small one has six steps; the large one may take its turn between them, and no more than that
    assert done - of_the_large == SMALL * 6
    assert of_the_large <= SMALL * 6
    assert Job.objects.exclude(id=large.id).filter(state="published").count() == SMALL
    large.refresh_from_db()
    assert large.state == "running" and not Job.objects.filter(state__in=["failed", "quarantined"]).exists()


def test_the_broker_is_given_no_more_than_it_has_room_for(bench: Workbench, settings: LazySettings) -> None:
    settings.WORK = {**settings.WORK, "BACKLOG": {**settings.WORK["BACKLOG"], "cpu": 5}}
    for number in range(30):
        bench.submit(f"text {number}", f"{number}.pdf")
    bench.deliver()
    assert bench.queue.depth("cpu") == 5
    sweep(max_attempts=3)
    assert bench.queue.depth("cpu") == 5, "a sweep must not fill it beyond its bound"
    assert StageRun.objects.filter(state="pending", offered_at__isnull=True).count() == 25
    rounds = 0
    while Job.objects.filter(state="published").count() < 30 and rounds < 60:
        bench.work(limit=5)
        sweep(max_attempts=3)
        assert bench.queue.depth("cpu") <= 5
        rounds += 1
    assert Document.objects.filter(live_build__isnull=False).count() == 30


def test_who_has_waited_longest_is_offered_first(bench: Workbench, settings: LazySettings) -> None:
    backlog = settings.WORK["BACKLOG"]
    settings.WORK = {**settings.WORK, "BACKLOG": {**backlog, "cpu": 1}}
    for number in range(4):
        bench.submit(f"text {number}", f"{number}.pdf")
    bench.deliver()
    bench.queue.offered.clear()
    settings.WORK = {**settings.WORK, "BACKLOG": {**backlog, "cpu": 3}}
    sweep(max_attempts=3)
    offered = [StageRun.objects.get(id=UUID(arguments[0])).job.document.external_id for _, arguments, *_ in bench.queue.offered]
    assert offered == ["1.pdf", "2.pdf", "3.pdf"]  # 0.pdf was offered before, and the broker may still hold it


def test_a_queue_that_is_full_does_not_hold_up_another(bench: Workbench, settings: LazySettings) -> None:
    bench.submit("a text", "a.pdf")
    bench.deliver()
    bench.work(limit=3)
    assert StageRun.objects.get(state="pending").queue == "embed"
    settings.WORK = {**settings.WORK, "BACKLOG": {**settings.WORK["BACKLOG"], "cpu": 1}}
    bench.submit("b text", "b.pdf")
    bench.submit("c text", "c.pdf")
    bench.deliver()
    bench.queue.offered.clear()
    StageRun.objects.filter(queue="embed").update(offered_at=None)
    bench.queue.enqueue("other", ["x"], "cpu")
    sweep(max_attempts=3)
    assert bench.queue.depth("embed") == 1 and bench.queue.depth("cpu") == 1
