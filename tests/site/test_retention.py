"""Retention: what is past its time goes, batch by batch and recorded; what somebody still needs stays; the chain stays whole."""

from __future__ import annotations

import os
import time
from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.contrib.sessions.models import Session
from django.db import connections
from django.utils import timezone

from docmemo_site.retention import retention_apply
from ingestion.models import (
    AuditEntry,
    AuditPayload,
    Build,
    BuildLiveness,
    DeadLetter,
    InboxEvent,
    Job,
    OutboxEvent,
    Page,
    StageRun,
)
from ingestion.seams import load
from ingestion.seams.event_bus import Message
from ingestion.services.audit import audit_verify
from ingestion.services.events import event_apply, event_receive
from ingestion.services.retention import build_forget, builds_old, stage_runs_forget
from qa.models import Answer, Citation, Claim, Question, Round, Run, RunPin
from qa.services.answering import run_execute
from qa.services.questions import question_ask
from qa.services.retention import ERASED
from tests.ingestion.fakes import Workbench, bench

__all__ = ["bench"]
ALL = {"superseded_builds": 30, "stage_runs": 30, "events": 30, "questions": 30}
LATER = timedelta(days=31)


@pytest.fixture
def rules(settings: LazySettings) -> LazySettings:
    settings.RETENTION_DAYS = ALL
    return settings


def applied(dry_run: bool = False, dead_letters: bool = False, later: timedelta = LATER) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for one in retention_apply(dry_run=dry_run, dead_letters=dead_letters, now=timezone.now() + later):
        known = found.get(one.kind, (0, 0))
        found[one.kind] = (known[0] + one.found, known[1] + one.gone)
    return found


def whole(bench: Workbench) -> bool:
    return audit_verify(bench.cast.organisation) == [] == audit_verify(bench.cast.elsewhere)


def test_by_default_everything_is_kept(bench: Workbench) -> None:
    bench.publish("first")
    bench.publish("second")
    before = (Build.objects.count(), StageRun.objects.count(), InboxEvent.objects.count(), OutboxEvent.objects.count())
    assert not any(gone for _, gone in applied().values())
    assert before == (Build.objects.count(), StageRun.objects.count(), InboxEvent.objects.count(), OutboxEvent.objects.count())


def test_a_dry_run_counts_and_takes_nothing(bench: Workbench, rules: LazySettings) -> None:
    bench.publish("first")
    bench.publish("second")
    entries = AuditEntry.objects.count()
    counted = applied(dry_run=True)
    assert counted["superseded_builds"] == (1, 0) and counted["stage_runs"][0] == StageRun.objects.count()
    assert counted["inbox"] == (2, 0) and counted["outbox"][0] >= 2
    assert Build.objects.count() == 2 and AuditEntry.objects.count() == entries


def test_a_superseded_build_goes_with_its_pages_and_pictures_and_the_live_one_stays(bench: Workbench, rules: LazySettings) -> None:
    document = bench.publish("first page\fsecond page")
    old = document.live_build
    bench.publish("another\fthing")
    document.refresh_from_db()
    pictures = {p.image_key for p in Page.objects.filter(build=old)}
    assert len(pictures) == 2 and applied()["superseded_builds"] == (1, 1)
    assert list(Build.objects.all()) == [document.live_build]
    assert not any(load("blobs").exists(key) for key in pictures)
    assert all(load("blobs").exists(p.image_key) for p in Page.objects.filter(build=document.live_build))
    entry = AuditEntry.objects.get(act="retention.applied", subject="superseded_builds")
    assert entry.body["build"] == str(old.id) and entry.body["pages"] == 2 and whole(bench)


def test_a_build_that_was_live_within_the_time_stays(bench: Workbench, rules: LazySettings) -> None:
    bench.publish("first")
    bench.publish("second")
    assert applied(later=timedelta(days=29))["superseded_builds"] == (0, 0)
    BuildLiveness.objects.filter(live_to__isnull=False).update(live_to=timezone.now() + timedelta(days=10))
    assert applied()["superseded_builds"] == (0, 0)


def ask(bench: Workbench, text: str = "What is the secret?") -> Run:
    run = question_ask(user=bench.cast.alice, corpus_slug="library", text=text, seed=1)
    run_execute(run.id)
    run.refresh_from_db()
    return run


def cite(run: Run, page: Page) -> None:
    """An answer that cites the page, whatever the reader made of the question."""
    RunPin.objects.get_or_create(run=run, document=page.document, defaults={"build": page.build, "version": page.build.version})
    answer = Answer.objects.filter(run=run).first() or Answer.objects.create(run=run, text="The secret is 42.")
    claim = Claim.objects.create(answer=answer, ordinal=90, text="The secret is 42.")
    Citation.objects.create(
        claim=claim, ordinal=0, document=page.document, version=page.build.version, build=page.build, page=page, page_number=page.number,
        start=0, end=6, quote="secret", quote_sha256="0" * 64,
    )  # fmt: skip


def test_a_build_that_an_answer_cites_stays_until_the_question_is_forgotten(bench: Workbench, settings: LazySettings) -> None:
    document = bench.publish("the secret is 42")
    old = document.live_build
    cite(ask(bench), Page.objects.get(build=old))
    bench.publish("another text")
    settings.RETENTION_DAYS = {**ALL, "questions": 0}
    assert applied()["superseded_builds"] == (0, 0) and Citation.objects.count() >= 1
    settings.RETENTION_DAYS = ALL
    outcome = applied()
    assert outcome["questions"] == (1, 1) and outcome["superseded_builds"] == (1, 1) and whole(bench)


def test_a_forgotten_question_leaves_no_text_and_a_whole_chain(bench: Workbench, rules: LazySettings) -> None:
    bench.publish("the secret is 42")
    run = ask(bench, "Which zephyr is secret?")
    cite(run, Page.objects.get())
    waiting = question_ask(user=bench.cast.alice, corpus_slug="library", text="not answered yet")
    assert applied()["questions"] == (1, 1)
    assert Question.objects.get(id=run.question_id).text == ERASED
    assert Question.objects.get(id=waiting.question_id).text == "not answered yet"
    payloads = AuditPayload.objects.filter(entry__subject=str(run.id))
    assert payloads and all(p.erased_at and p.content is None and p.salt == "" for p in payloads)
    assert not Answer.objects.filter(run=run) and all(r.texts == {} for r in Round.objects.filter(run=run))
    assert whole(bench) and applied()["questions"] == (0, 0)


def test_steps_of_jobs_that_failed_are_evidence_and_stay(bench: Workbench, rules: LazySettings) -> None:
    bench.publish("good", "good.pdf")
    bench.publish("broken", "bad.pdf")
    bad = Job.objects.get(document__external_id="bad.pdf")
    Job.objects.filter(id=bad.id).update(finished_at=timezone.now())


    with connections["migrator"].cursor() as cursor:
        cursor.execute("alter table ingestion_job disable trigger user")
        cursor.execute("update ingestion_job set state = 'failed', reason_code = 'corrupt' where id = %s", [bad.id])
        cursor.execute("alter table ingestion_job enable trigger user")
    kept = StageRun.objects.filter(job=bad).count()
    assert applied()["stage_runs"][1] > 0
    assert StageRun.objects.count() == StageRun.objects.filter(job=bad).count() == kept > 0
    assert Job.objects.count() == 2


def test_events_go_and_dead_ones_only_when_said(bench: Workbench, rules: LazySettings) -> None:
    bench.publish("text")
    event_receive(Message("docmemo.documents", b"k", b"not json", {}, 0, 5))
    unpublished = set(OutboxEvent.objects.filter(published_at__isnull=True).values_list("id", flat=True))
    outcome = applied()
    assert outcome["inbox"] == (1, 1) and outcome["outbox"][1] == 1 and DeadLetter.objects.count() == 1
    assert unpublished <= set(OutboxEvent.objects.values_list("id", flat=True))
    assert applied(dead_letters=True)["dead_letters"] == (1, 1) and not DeadLetter.objects.exists() and whole(bench)


def test_an_event_that_comes_again_after_its_inbox_row_went_has_no_effect(bench: Workbench, rules: LazySettings) -> None:
    bench.submit("text")
    message = bench.messages()[0]


    event_apply(event_receive(message))
    bench.work()
    applied()
    assert not InboxEvent.objects.exists()
    again = event_receive(message)
    assert event_apply(again).value == "stale" and Job.objects.count() == 1


def test_pictures_of_no_build_half_files_and_old_sessions_go(bench: Workbench, tmp_path, monkeypatch) -> None:
    bench.publish("text")
    mine = set(load("blobs").keys(""))
    stray = f"{bench.cast.organisation.id}/pages/01900000-0000-7000-8000-000000000000/1.jpg"
    load("blobs").put(stray, b"picture")
    half = tmp_path / "blobs" / ".new-half"
    half.write_bytes(b"half")
    young = tmp_path / "blobs" / ".new-young"
    young.write_bytes(b"being written")
    os.utime(half, (time.time() - 90_000,) * 2)
    Session.objects.create(session_key="old", session_data="", expire_date=timezone.now() - timedelta(days=1))
    Session.objects.create(session_key="new", session_data="", expire_date=timezone.now() + timedelta(days=1))
    outcome = applied(later=timedelta())
    assert outcome["abandoned_pictures"] == (1, 1) and outcome["sessions"] == (1, 1) and outcome["abandoned_files"][1] >= 1
    assert set(load("blobs").keys("")) == mine and not half.exists() and young.exists()
    assert [s.session_key for s in Session.objects.all()] == ["new"] and whole(bench)


def test_a_run_that_was_cut_off_is_gone_on_with(bench: Workbench, rules: LazySettings) -> None:
    for number in range(3):
        bench.publish(f"version {number}")
    organisation, before = bench.cast.organisation, timezone.now() + timedelta(days=1)
    assert build_forget(organisation=organisation, before=before, actor="t") == 1
    assert stage_runs_forget(organisation=organisation, before=before, actor="t", limit=2) == 2
    assert builds_old(organisation, before).count() == 1 and whole(bench)
    outcome = applied()
    assert outcome["superseded_builds"] == (1, 1) and not StageRun.objects.exists() and Build.objects.count() == 1
    counts = [e.body["count"] for e in AuditEntry.objects.filter(subject="stage_runs")]
    assert counts[0] == 2 and len(counts) == 2 and whole(bench)
