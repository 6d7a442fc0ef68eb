"""Past answers are marked and checked again at every door; abstentions know what they never saw; answers can be recalled."""

from __future__ import annotations

import pytest
from django.test import Client

from ingestion.models import BuildLiveness, CorpusEpoch, Document, Role, User
from ingestion.seams import load
from ingestion.services.corpora import access_replace
from ingestion.services.documents import document_withdraw
from ingestion.services.people import group_ensure, membership_end, membership_start, person_create, role_grant
from ingestion.services.rebuild import document_rebuild
from qa.models import Answer, Run
from qa.selectors.outcome import run_outcome
from qa.selectors.portal import run_view
from qa.selectors.recall import answers_relying_on, recallable_document
from qa.services.answering import run_execute
from qa.services.questions import question_ask
from tests.ingestion.fakes import Workbench
from tests.people import PASSWORD

TEXT = "INTRODUCTION\nThe company makes pumps.\fWARRANTY\nThe warranty of the Orion lasts 24 months from delivery."
NEW_TEXT = TEXT.replace("24 months", "36 months")
QUESTION = "How long does the warranty of the Orion last?"
UNANSWERED = "Who is the managing director of the Altair works?"


@pytest.fixture(autouse=True)
def real_embedder(bench: Workbench, settings) -> None:
    settings.SEAMS = {
        **settings.SEAMS,
        "page_embedder": {"BACKEND": "ingestion.seams.page_embedder.onnx_text.OnnxTextEmbedder", "OPTIONS": {"folder": None}},
    }
    load.cache_clear()


def _ask(bench: Workbench, text: str = QUESTION, user: User | None = None, **fields) -> Run:
    run = question_ask(user=user or bench.cast.alice, corpus_slug="library", text=text, **fields)
    run_execute(run.id)
    return Run.objects.select_related("question__asker", "question__document").get(id=run.id)


def _doors(bench: Workbench, run: Run) -> str:
    """All that the stored run says at its asker's doors."""
    client = Client()
    client.force_login(run.question.asker)
    pages = [client.get(f"/runs/{run.id}/").content.decode(), client.get("/questions/").content.decode()]
    cited = [str(c.id) for a in Answer.objects.filter(run=run) for claim in a.claims.all() for c in claim.citations.all()]
    pages += [client.get(f"/runs/{run.id}/citations/{citation}/").content.decode() for citation in cited]
    return "\n".join([*pages, str(run_outcome(run))])


def _superseded(bench: Workbench, document: Document) -> None:
    bench.publish(NEW_TEXT)


def _withdrawn(bench: Workbench, document: Document) -> None:
    document_withdraw(actor="test", document=document)
    bench.deliver()


def _denied(bench: Workbench, document: Document) -> None:
    access_replace(actor="test", corpus=document.corpus, document=document, page_number=2, allow=None, deny=("user:alice",))


def _left_the_group(bench: Workbench, document: Document) -> None:
    group = group_ensure(organisation=bench.cast.organisation, name="staff")
    membership_end(group=group, member=bench.cast.alice.principal, actor="test")


CHANGES = {"superseded": _superseded, "withdrawn": _withdrawn, "denied": _denied, "left": _left_the_group}


@pytest.mark.parametrize("change", CHANGES)
def test_no_stored_answer_is_served_without_the_checks(bench: Workbench, change: str) -> None:
    document = bench.publish(TEXT, title="Orion handbook")
    run = _ask(bench)
    assert "24 months" in _doors(bench, run) and run_outcome(run)["mark"] == "current" and run_view(run).mark == ""
    CHANGES[change](bench, document)
    told, outcome = _doors(bench, run), run_outcome(run)
    if change == "superseded":
        assert outcome["mark"] == "superseded" and "of a version that is not the live one" in told and "36 months" not in told
        assert [c["standing"] for claim in outcome["claims"] for c in claim["citations"]] == ["superseded"]
    else:
        assert "24 months" not in told
        assert ("Orion handbook" in told) == (change == "denied")  # its first page is still open to her
        assert (outcome["mark"], outcome["answer"]) == ("not_available", None) and "not visible to you any more" in told
    if change != "withdrawn":  # the answer that was given is not written anew
        assert "24 months" in Answer.objects.get(run=run).text


def test_an_abstention_names_what_came_that_it_never_saw_and_its_asker_may_see(bench: Workbench) -> None:
    bench.publish(TEXT, title="Old")
    run = _ask(bench, UNANSWERED)
    assert run.verdict != "answered" and run_view(run).newer == ()
    hidden = bench.publish("The director is Ada.", external_id="hidden.pdf", title="Hidden", allow=("user:admin",))
    assert run_view(run).newer == () and "Hidden" not in _doors(bench, run)
    bench.publish("The director is Ada Byron.", external_id="open.pdf", title="Open")
    assert [(n.title, n.version) for n in run_view(run).newer] == [("Open", 1)] and "Asked before this arrived" in _doors(bench, run)
    bench.publish(NEW_TEXT)
    assert [n.title for n in run_view(run).newer] == ["Open", "Old"]  # a new version was not seen either
    access_replace(actor="test", corpus=hidden.corpus, document=hidden, allow=None)
    assert {n.title for n in run_view(run).newer} == {"Open", "Old", "Hidden"}
    assert run_view(_ask(bench, UNANSWERED)).newer == ()
    assert [n.title for n in run_view(_ask(bench, UNANSWERED, document_id=hidden.id)).newer] == []
    assert run_view(_ask(bench)).newer == ()  # an answer is not an abstention


def test_rights_that_came_later_count_as_documents_that_came(bench: Workbench) -> None:
    bench.publish(TEXT, title="Old")
    run = _ask(bench, user=bench.cast.bob)
    assert run.verdict == "no_readable_documents" and run_view(run).newer == () and run.corpus_epoch == 0
    membership_start(group=group_ensure(organisation=bench.cast.organisation, name="staff"), member=bench.cast.bob.principal, actor="t")
    assert [n.title for n in run_view(run).newer] == ["Old"]


def test_a_grant_that_came_later_counts_too(bench: Workbench) -> None:
    document = bench.publish(TEXT, title="Old")
    run = _ask(bench, user=bench.cast.bob)
    access_replace(actor="test", corpus=document.corpus, document=document, allow=("staff",))
    assert run_view(run).newer == ()
    access_replace(actor="test", corpus=document.corpus, allow=("staff", "user:bob"))
    assert run_view(run).newer == ()  # the document's own list still shuts him out
    access_replace(actor="test", corpus=document.corpus, document=document, allow=None)
    assert [n.title for n in run_view(run).newer] == ["Old"]
    again = _ask(bench, UNANSWERED, user=bench.cast.bob)
    access_replace(actor="test", corpus=document.corpus, allow=("user:bob",))  # changed, and open to him before and after
    assert run_view(again).newer == ()


def test_the_epoch_counts_versions_not_rebuilds(bench: Workbench) -> None:
    document = bench.publish(TEXT)
    run = _ask(bench, UNANSWERED)
    assert run.corpus_epoch == 1
    document.refresh_from_db()
    BuildLiveness.objects.filter(document=document).update(epoch=1)
    document.live_build.fingerprint = "of an older pipeline"
    document.live_build.save()
    assert document_rebuild(document=document, actor="test") is not None
    bench.work()
    document.refresh_from_db()
    assert document.builds.count() == 2 and BuildLiveness.objects.get(document=document, live_to=None).epoch == 1
    assert CorpusEpoch.objects.get().epoch == 1 and run_view(run).newer == ()


def test_answers_of_a_document_are_recalled_whatever_became_of_it(bench: Workbench) -> None:
    document = bench.publish(TEXT)
    cites, looks = _ask(bench), _ask(bench, UNANSWERED)
    bench.publish("CANTEEN\nThe canteen opens at eleven.", external_id="other.pdf")

    def told() -> dict:
        return {one.run_id: (one.relied, one.standing, one.asker) for one in answers_relying_on(Document.objects.get(id=document.id))}

    assert told()[cites.id] == (True, "live", "alice")
    assert looks.id not in told() or told()[looks.id] == (False, "live", "alice")
    bench.publish(NEW_TEXT)
    assert told()[cites.id] == (True, "superseded", "alice")
    again = _ask(bench)
    assert told()[again.id] == (True, "live", "alice")
    document_withdraw(actor="test", document=document)
    bench.deliver()
    assert {standing for _, standing, _ in told().values()} == {"withdrawn"}
    bench.work()  # purged
    assert told()[cites.id] == (None, "no longer held", "alice") and told()[again.id][1] == "no longer held"
    assert "24 months" not in str(answers_relying_on(Document.objects.get(id=document.id)))


def test_who_may_recall(bench: Workbench) -> None:
    document = bench.publish(TEXT)
    owner, other = (person_create(organisation=bench.cast.organisation, username=n, password=PASSWORD) for n in ("olive", "oona"))
    role_grant(user=owner, role=Role.CORPUS_OWNER, corpus=document.corpus, actor="test")
    role_grant(user=other, role=Role.CORPUS_OWNER, corpus=bench.corpus("another"), actor="test")
    cast = bench.cast
    people = (owner, cast.admin, cast.auditor, other, cast.alice, cast.mallory)
    assert [recallable_document(person, document.id) is not None for person in people] == [True] * 3 + [False] * 3
