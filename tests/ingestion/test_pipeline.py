"""A document's way from event to live index, and every way it can go wrong: nothing lost, nothing doubled, the old version stays."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from ingestion.domain.errors import DOCUMENT_FAILURES
from ingestion.models import (
    Build,
    BuildLiveness,
    DeadLetter,
    Document,
    DocumentVersion,
    InboxEvent,
    Job,
    OutboxEvent,
    Page,
    Passage,
    PassageVector,
    Posting,
    StageRun,
)
from ingestion.seams import load
from ingestion.seams.event_bus import Message
from ingestion.services import jobs
from ingestion.services.documents import document_withdraw
from ingestion.services.events import event_apply, event_receive
from ingestion.services.jobs import job_cancel, job_retry, run_claim, run_finish, run_release_expired
from ingestion.services.pipeline import KEEP, pipeline_fingerprint, stage_run_execute
from tests.ingestion.fakes import Workbench
from workers.sweeper import forget_offers, sweep

FIVE_PAGES = "\f".join(f"TITLE {n}\nthe quick fact number {n} stands here" for n in range(1, 6))


def test_a_document_is_published_whole(bench: Workbench) -> None:
    document = bench.publish(FIVE_PAGES)
    build = document.live_build
    assert (build.state, build.page_count, document.live_version.number) == ("live", 5, 1)
    assert Page.objects.filter(build=build).count() == 5
    assert Passage.objects.filter(build=build).count() == PassageVector.objects.filter(build=build).count() == 5
    assert Posting.objects.filter(build=build, lexeme="fact").count() == 5
    assert bench.newest_job().state == "published"
    assert set(StageRun.objects.values_list("state", flat=True)) == {"done"}
    assert OutboxEvent.objects.filter(type="document.version.published").count() == 1


def test_the_same_event_twice_makes_one_ingest(bench: Workbench) -> None:
    bench.submit(FIVE_PAGES)
    message = bench.messages()[0]
    first, second = event_receive(message), event_receive(message)
    assert first is not None and second is None
    event_apply(first)
    event_apply(first)
    bench.work()
    assert (Job.objects.count(), Page.objects.count(), InboxEvent.objects.count()) == (1, 5, 1)


def test_the_same_content_again_is_nothing_to_do(bench: Workbench) -> None:
    bench.publish(FIVE_PAGES)
    bench.publish(FIVE_PAGES)
    assert (Job.objects.count(), Build.objects.count(), DocumentVersion.objects.count()) == (1, 1, 1)


def test_a_lower_revision_that_comes_late_has_no_effect(bench: Workbench) -> None:
    bench.submit("old text")
    bench.submit("new text")
    old, new = bench.messages()
    event_apply(event_receive(new))
    late = event_receive(old)
    event_apply(late)
    bench.work()
    assert InboxEvent.objects.get(id=late).state == "stale"
    assert Document.objects.get().live_version.bytes == len("new text")
    assert DocumentVersion.objects.count() == 1


def test_an_update_takes_the_place_of_the_old_version_in_one_step(bench: Workbench) -> None:
    first = bench.publish("version one").live_build
    document = bench.publish("version two")
    first.refresh_from_db()
    assert (first.state, document.live_version.number) == ("superseded", 2)
    assert BuildLiveness.objects.filter(live_to__isnull=True).count() == 1


def test_three_quick_updates_end_at_the_third(bench: Workbench) -> None:
    for text in ("one", "two", "three"):
        bench.submit(text)
    bench.deliver()
    bench.work()
    assert Document.objects.get().live_version.number == 3
    assert sorted(Job.objects.values_list("state", flat=True)) == ["published", "superseded", "superseded"]


def test_a_failed_update_leaves_the_old_version_live_and_says_why(bench: Workbench) -> None:
    old = bench.publish("version one").live_build
    document = bench.publish(b"FAIL corrupt")
    job = bench.newest_job()
    assert document.live_build == old
    assert (job.state, job.failed_stage, job.reason_code) == ("failed", "inspect", "corrupt")
    assert job.reason.startswith(DOCUMENT_FAILURES["corrupt"][1])
    assert OutboxEvent.objects.filter(type="document.version.failed").count() == 1


def test_a_page_without_anything_fails_as_no_content(bench: Workbench) -> None:
    bench.publish("\f")
    assert bench.newest_job().reason_code == "no_content"


def test_deletion_takes_effect_at_once_and_the_document_can_come_again(bench: Workbench) -> None:
    document = bench.publish("version one")
    document_withdraw(actor="test", document=document)
    bench.deliver()
    document.refresh_from_db()
    assert document.live_build is None and document.deleted_at is not None
    document = bench.publish("version one")
    assert document.deleted_at is None and document.live_build.state == "live"


@pytest.mark.parametrize("stage", ["inspect", "render", "read", "embed", "describe", "publish"])
def test_a_worker_lost_in_any_stage_costs_an_attempt_and_no_document(bench: Workbench, stage: str) -> None:
    bench.submit(FIVE_PAGES)
    bench.deliver()
    while task := bench.queue.take():
        run = StageRun.objects.get(id=UUID(task[1][0]))
        if run.stage == stage and run.attempts == 0:
            run_claim(run.id, "lost", timedelta(seconds=-1))  # claimed, and never heard of again
            continue
        stage_run_execute(run.id, "test")
    sweep(max_attempts=3)
    bench.work()
    assert Document.objects.get().live_build.page_count == 5
    assert (Page.objects.count(), Passage.objects.count()) == (5, 5)


def test_a_worker_that_lost_its_lease_writes_nothing(bench: Workbench) -> None:
    bench.submit(FIVE_PAGES)
    bench.deliver()
    run_id = UUID(bench.queue.take()[1][0])
    old = run_claim(run_id, "slow", timedelta(seconds=-1))
    assert run_release_expired(run_id, max_attempts=3)
    new = run_claim(run_id, "fresh", timedelta(seconds=60))
    assert new.fencing_token > old.fencing_token

    def keep(*_: object) -> None:
        raise AssertionError("kept without a lease")

    assert run_finish(old, keep, None) is False


def test_a_document_that_takes_every_worker_with_it_is_quarantined(bench: Workbench) -> None:
    bench.submit(FIVE_PAGES)
    bench.deliver()
    run_id = UUID(bench.queue.take()[1][0])
    for _ in range(3):
        assert run_claim(run_id, "killed", timedelta(seconds=-1))
        run_release_expired(run_id, max_attempts=3)
    job = bench.newest_job()
    assert (job.state, job.reason_code) == ("quarantined", "attempts_exhausted")


def test_a_failing_embedder_is_tried_again_and_then_quarantined(bench: Workbench) -> None:
    bench.publish("version one")
    load("page_embedder").failing = True
    bench.submit("version two")
    bench.deliver()
    for _ in range(3):
        bench.work()
        StageRun.objects.filter(state="pending").update(due_at=timezone.now())
        sweep(max_attempts=3)
    job = bench.newest_job()
    assert (job.state, job.failed_stage, job.reason_code) == ("quarantined", "embed", "embedder_failed")
    assert Document.objects.get().live_version.number == 1


def test_retry_goes_on_from_the_stage_that_failed(bench: Workbench) -> None:
    load("page_embedder").failing = True
    bench.submit("a text")
    bench.deliver()
    for _ in range(3):
        bench.work()
        StageRun.objects.filter(state="pending").update(due_at=timezone.now())
        sweep(max_attempts=3)
    rendered = StageRun.objects.get(stage="render").finished_at
    load("page_embedder").failing = False
    assert job_retry(job=bench.newest_job(), actor="test")
    bench.work()
    assert bench.newest_job().state == "published"
    assert StageRun.objects.get(stage="render").finished_at == rendered


def test_a_cancelled_job_stops_and_can_be_retried(bench: Workbench) -> None:
    bench.submit(FIVE_PAGES)
    bench.deliver()
    assert job_cancel(job=bench.newest_job(), actor="test")
    bench.work()
    assert Document.objects.get().live_build is None
    assert job_retry(job=bench.newest_job(), actor="test")
    bench.work()
    assert Document.objects.get().live_build.page_count == 5


def test_a_broker_that_forgot_everything_is_asked_again(bench: Workbench) -> None:
    bench.submit(FIVE_PAGES)
    bench.deliver()
    bench.queue.offered.clear()
    forget_offers()
    sweep(max_attempts=3)
    bench.work()
    assert Document.objects.get().live_build is not None


def test_a_large_document_leaves_room_on_the_queue(bench: Workbench) -> None:
    bench.submit("\f".join(f"page {n}" for n in range(60)))
    bench.deliver()
    bench.work(limit=1)  # inspect: opens 30 windows
    assert StageRun.objects.filter(stage="render").count() == 30
    assert len(bench.queue.offered) == jobs.WINDOWS_IN_FLIGHT
    bench.work()
    assert Document.objects.get().live_build.page_count == 60


def test_a_stage_run_again_with_the_same_input_changes_nothing(bench: Workbench) -> None:
    document = bench.publish(FIVE_PAGES)
    before = _contents(document)
    job = Job.objects.get()
    for run in StageRun.objects.filter(job=job, stage__in=["render", "read", "embed", "describe"]).order_by("id"):
        from ingestion.services.pipeline import _context, stage_named

        with _context(run) as context:
            KEEP[run.stage](run, stage_named(run.stage).run(context))
    assert _contents(document) == before


def _contents(document: Document) -> dict:
    build = document.live_build
    return {
        "pages": list(Page.objects.filter(build=build).order_by("number").values_list("id", "number", "image_sha256", "words", "role")),
        "passages": list(Passage.objects.filter(build=build).order_by("page__number", "ordinal").values_list("page_id", "start", "end")),
        "postings": set(Posting.objects.filter(build=build).values_list("page_id", "field", "lexeme", "frequency")),
    }


def test_another_pipeline_makes_a_new_build_of_the_same_version(bench: Workbench) -> None:
    bench.publish(FIVE_PAGES)
    load("parser").version = "2"
    pipeline_fingerprint.cache_clear()
    document = bench.publish(FIVE_PAGES)
    load("parser").version = "1"
    assert document.live_version.number == 1
    assert sorted(Build.objects.values_list("state", flat=True)) == ["live", "superseded"]


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        (b"not json", "not_json"),
        (b"{}", "bad_event"),
        (b'{"specversion": "2.0"}', "bad_event"),
        (b"\xff\xfe", "not_json"),
        (b"x" * 1_100_000, "too_large"),
    ],
)
def test_a_bad_message_is_a_dead_letter_with_its_cause(bench: Workbench, value: bytes, cause: str) -> None:
    assert event_receive(Message("docmemo.documents", b"k", value, {}, 0, 7)) is None
    event_receive(Message("docmemo.documents", b"k", value, {}, 0, 7))  # again: kept once
    assert DeadLetter.objects.get().cause == cause


def test_an_event_of_a_stranger_is_refused(bench: Workbench) -> None:
    bench.submit("text")
    message = bench.messages()[0]
    forged = Message(message.topic, message.key, message.value.replace(b"/docmemo/acme/", b"/docmemo/nobody/"), {}, 0, 99)
    assert event_receive(forged) is None
    assert DeadLetter.objects.get().cause == "unknown_source"


def test_an_event_for_an_unknown_corpus_waits_for_it(bench: Workbench) -> None:
    bench.submit("text")
    message = bench.messages()[0]
    early = Message(message.topic, b"later/a.pdf", message.value.replace(b'"library"', b'"later"'), {}, 0, 99)
    inbox = event_receive(early)
    assert event_apply(inbox).value == "waiting"
    bench.corpus("later")
    assert event_apply(inbox).value == "applied"
