"""An auditor asks as of a moment: the answer of then under the rights of then, labelled, recorded, and nobody's but his."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from docmemo_site.management.commands.ask import outcome_text
from ingestion.models import AuditEntry, OutboxEvent, Principal, RoleAssignment, User
from ingestion.seams import load
from ingestion.services.audit import audit_verify
from ingestion.services.documents import document_withdraw
from ingestion.services.people import membership_end
from qa.models import Run
from qa.selectors.outcome import run_outcome
from qa.selectors.portal import own_run, own_runs
from qa.services.answering import run_execute
from qa.services.as_of_door import AsOfDoor
from qa.services.questions import QuestionRefused, question_ask, question_ask_as_of
from tests.ingestion.fakes import Workbench

TEXT = "INTRODUCTION\nThe company makes pumps.\fWARRANTY\nThe warranty of the Orion lasts 24 months from delivery."
NEW_TEXT = TEXT.replace("24 months", "36 months")
QUESTION = "How long does the warranty of the Orion last?"


@pytest.fixture(autouse=True)
def real_embedder(bench: Workbench, settings) -> None:
    settings.SEAMS = {
        **settings.SEAMS,
        "page_embedder": {"BACKEND": "ingestion.seams.page_embedder.onnx_text.OnnxTextEmbedder", "OPTIONS": {"folder": None}},
    }
    load.cache_clear()


def _look(bench: Workbench, at, person: User | None = None, auditor: User | None = None) -> Run:
    run = question_ask_as_of(
        auditor=auditor or bench.cast.auditor, person=person or bench.cast.alice, at=at, corpus_slug="library", text=QUESTION, seed=7
    )
    run_execute(run.id)
    return Run.objects.select_related("question__asker", "as_of_person").get(id=run.id)


def test_the_answer_of_then_under_the_rights_of_then(bench: Workbench) -> None:
    before = timezone.now()
    document = bench.publish(TEXT)
    then = timezone.now()
    bench.publish(NEW_TEXT)
    staff = Principal.objects.get(name="staff", organisation=bench.cast.organisation)
    membership_end(group=staff, member=bench.cast.alice.principal, actor="test")
    run = _look(bench, then)
    outcome = run_outcome(run)
    assert outcome["verdict"] == "answered" and "24 months" in outcome["answer"] and outcome["claims"][0]["citations"][0]["version"] == 1
    assert outcome["as_of"] == {"at": then.isoformat(), "for": "alice", "read_by": "audra", "no_longer_held": []}
    assert outcome_text(outcome).startswith(f"AS OF {then.isoformat()}, under the rights that alice had then; read by the auditor audra.")
    assert run_outcome(_look(bench, then, bench.cast.bob))["verdict"] == "no_readable_documents"
    assert run_outcome(_look(bench, before))["verdict"] == "no_readable_documents"
    today = run_outcome(_look(bench, timezone.now()))
    assert today["verdict"] == "no_readable_documents"  # alice left the group
    document_withdraw(actor="test", document=document)
    bench.deliver()
    outcome = run_outcome(run)
    assert outcome["answer"] is None and outcome["as_of"]["no_longer_held"] == [str(document.id)]
    assert "no longer held" in outcome_text(run_outcome(_look(bench, then))) and "24 months" not in outcome_text(outcome)


def test_the_chain_says_who_looked_for_whom_at_which_moment(bench: Workbench) -> None:
    bench.publish(TEXT)
    sent = OutboxEvent.objects.filter(type="answer.released").count()
    run = _look(bench, timezone.now())
    looked, ended = (AuditEntry.objects.get(act=act, subject=str(run.id)) for act in ("question.as_of", "question.answered"))
    alice, audra = str(bench.cast.alice.id), str(bench.cast.auditor.id)
    assert (looked.actor, looked.body["for"], looked.body["at"]) == (audra, alice, run.as_of.isoformat())
    assert ended.actor == audra and ended.body["as_of"] == {"at": run.as_of.isoformat(), "for": alice}
    assert looked.position < ended.position and QUESTION not in str(looked.body) and audit_verify(bench.cast.organisation) == []
    assert OutboxEvent.objects.filter(type="answer.released").count() == sent


def test_a_look_at_the_past_stands_at_no_portal_and_ends_with_the_role(bench: Workbench) -> None:
    bench.publish(TEXT)
    run = _look(bench, timezone.now())
    for person in (bench.cast.auditor, bench.cast.alice):
        assert own_run(person, run.id) is None and own_runs(person)[0] == []
        client = Client()
        client.force_login(person)
        assert client.get(f"/runs/{run.id}/").status_code == 404
    trail = Client()
    trail.force_login(bench.cast.auditor)
    page = trail.get(f"/audit/runs/{run.id}/").content.decode()  # her own tags do not cover the page
    assert "under the rights that alice had then" in page and "24 months" not in page
    assert "24 months" in str(run_outcome(run))
    RoleAssignment.objects.filter(user=bench.cast.auditor).delete()
    assert "24 months" not in str(run_outcome(run))


def test_who_may_not_look(bench: Workbench) -> None:
    bench.publish(TEXT)
    now, cast = timezone.now(), bench.cast
    pairs = [(who, cast.alice, now) for who in (cast.admin, cast.alice, cast.mallory)]
    for auditor, person, at in (*pairs, (cast.auditor, cast.mallory, now), (cast.auditor, cast.alice, now + timedelta(hours=1))):
        with pytest.raises(QuestionRefused):
            question_ask_as_of(auditor=auditor, person=person, at=at, corpus_slug="library", text=QUESTION)
    assert not Run.objects.exists() and not AuditEntry.objects.filter(act="question.as_of").exists()


def test_an_auditor_who_is_none_any_more_gets_nothing_out_of_a_run_under_way(bench: Workbench) -> None:
    bench.publish(TEXT)
    run = question_ask_as_of(
        auditor=bench.cast.auditor, person=bench.cast.alice, at=timezone.now(), corpus_slug="library", text=QUESTION
    )
    RoleAssignment.objects.filter(user=bench.cast.auditor).delete()
    run_execute(run.id)
    run.refresh_from_db()
    assert (run.state, hasattr(run, "answer")) == ("failed", False)


def test_the_past_of_now_ranks_as_the_present_does(bench: Workbench) -> None:
    bench.publish(TEXT)
    bench.publish("CANTEEN\nThe canteen opens at eleven.\fPARKING\nParking is free.", external_id="b.pdf")
    embedder = load("page_embedder")
    from qa.services.door import RunDoor

    present = RunDoor(bench.cast.alice, "library", None, embedder)
    past = AsOfDoor(bench.cast.auditor, bench.cast.alice, timezone.now(), "library", None, embedder)
    assert past.scope().pins == present.scope().pins
    assert [(c.page_id, round(c.similarity, 9)) for c in past.search(QUESTION, 9)] == [
        (c.page_id, round(c.similarity, 9)) for c in present.search(QUESTION, 9)
    ]
    pages = [c.page_id for c in present.search(QUESTION, 9)]
    assert past.term_pages("warranty canteen") == present.term_pages("warranty canteen")
    assert past.pages(pages) == present.pages(pages) and past.images(pages) == present.images(pages)
    assert all(past.neighbours(page, 1) == present.neighbours(page, 1) for page in pages)
    assert [c.page_id for c in past.candidates(pages)] == [c.page_id for c in present.candidates(pages)]
    with pytest.raises(QuestionRefused):
        question_ask(user=bench.cast.alice, corpus_slug="library", text=" ")
