"""The portal: asking, watching, reading; and what becomes of an answer when its evidence changes."""

from __future__ import annotations

import re
from uuid import uuid4

from django.test import Client

from ingestion.domain.ids import new_id
from ingestion.models import Page
from ingestion.seams import load
from ingestion.services.corpora import access_replace
from ingestion.services.documents import document_withdraw
from qa.models import Question, Round, Run, RunState
from qa.services.answering import run_execute
from qa.services.questions import question_ask
from tests.qa.views.scene import QUESTION, TEXT, TITLE, Scene


def _html(client: Client, path: str, **headers: str) -> str:
    answer = client.get(path, headers=headers or None)
    assert answer.status_code == 200, (path, answer.status_code)
    return answer.content.decode()


# --- asking ------------------------------------------------------------------------------------------


def test_only_readable_corpora_and_documents_are_offered(scene: Scene) -> None:
    hidden = scene.bench.publish("SECRET\nthe merger", external_id="merger.pdf", title="Merger plan", allow=("board",))
    alice, bob = scene.client("alice"), scene.client("bob")
    page = _html(alice, "/")
    assert f'value="{scene.document.id}"' in page and TITLE in page
    assert str(hidden.id) not in page and "Merger" not in page
    for who in ("bob", "admin", "auditor", "mallory"):
        seen = _html(scene.client(who), "/") + _html(scene.client(who), "/documents?corpus=library")
        assert TITLE not in seen and "Merger" not in seen and "library" not in seen, who
    assert _html(bob, "/documents?corpus=library") == _html(bob, "/documents?corpus=no-such-corpus")


def test_a_question_is_kept_offered_and_shown(scene: Scene) -> None:
    client = scene.client("alice")
    sent = client.post("/", {"corpus": "library", "document": str(scene.document.id), "question": QUESTION})
    run = Run.objects.latest("created_at")
    assert (sent.status_code, sent["Location"]) == (302, f"/runs/{run.id}/")
    assert (run.state, run.question.document_id, run.question.asker_id) == ("waiting", scene.document.id, scene.cast.alice.id)
    task = load("task_queue").take()
    assert list(task[1]) == [str(run.id)]
    waiting = _html(client, f"/runs/{run.id}/")
    assert 'hx-trigger="every 1s"' in waiting and "Waiting for its turn" in waiting
    run_execute(run.id)
    done = _html(client, f"/runs/{run.id}/")
    assert "hx-trigger" not in done and "1200 euro" in done


def test_a_link_fills_the_form_in_and_never_asks(scene: Scene) -> None:
    before = Question.objects.count()
    page = _html(scene.client("alice"), "/?corpus=library&question=What+does+it+cost%3F&ask=1&submit=1")
    assert "What does it cost?" in page and "autosubmit" not in page
    assert Question.objects.count() == before


def test_a_poor_question_is_refused_with_words(scene: Scene) -> None:
    client = scene.client("alice")
    before = Question.objects.count()
    for text in ("", "   ", "x" * 1001):
        answer = client.post("/", {"corpus": "library", "question": text})
        assert answer.status_code == 422 and "between 1 and 1000 characters" in answer.content.decode()
    assert Question.objects.count() == before


def test_forbidden_and_absent_end_in_the_same_words(scene: Scene) -> None:
    """The employee without access: a corpus and a document that are there, and ones that are not."""
    client = scene.client("bob")
    pages = set()
    cases = (
        ("library", None), ("library", scene.document.id), ("library", new_id()), ("no-such-corpus", None),
        ("no-such-corpus", scene.document.id),
    )  # fmt: skip
    for slug, document in cases:
        run = scene.ask("bob", QUESTION, slug, document)
        assert run.verdict == "no_readable_documents"
        page = _html(client, f"/runs/{run.id}/", **{"HX-Request": "true"})
        pages.add(page.replace(str(run.id), "RUN"))
        assert TITLE not in page and "1200" not in page
    assert len(pages) == 1


def test_a_document_of_another_corpus_or_no_id_at_all_is_an_absent_one(scene: Scene) -> None:
    client = scene.client("alice")
    for document in ("nonsense", str(uuid4()), "0"):
        client.post("/", {"corpus": "library", "document": document, "question": QUESTION})
        run = Run.objects.latest("created_at")
        run_execute(run.id)
        run.refresh_from_db()
        assert run.verdict == "no_readable_documents"


# --- a run -------------------------------------------------------------------------------------------


def test_a_run_shows_its_rounds_while_they_go_by(scene: Scene) -> None:
    client = scene.client("alice")
    run = question_ask(user=scene.cast.alice, corpus_slug="library", text=QUESTION)
    Run.objects.filter(id=run.id).update(state=RunState.RUNNING)
    path, poll = f"/runs/{run.id}/", {"HX-Request": "true"}
    first = _html(client, path, **poll)
    token = re.search(r"seen=([\w-]+)", first).group(1)
    assert client.get(f"{path}?seen={token}", headers=poll).status_code == 204
    page = scene.page
    record = {"shown": [str(page.id)], "candidates": [{"page_id": str(page.id), "verdict": "useful"}], "status": "need_more"}
    Round.objects.create(run=run, number=1, record=record, texts={"missing": ["the year of the price"]})
    second = _html(client, f"{path}?seen={token}", **poll)
    assert f"{TITLE}, page 2" in second and "Useful" in second and "the year of the price" in second
    assert "<html" not in second and 'hx-trigger="every 1s"' in second


def test_rounds_with_missing_keys_are_shown_all_the_same(scene: Scene) -> None:
    run = question_ask(user=scene.cast.alice, corpus_slug="library", text=QUESTION)
    Round.objects.create(run=run, number=1, record={}, texts={})
    Round.objects.create(run=run, number=2, record={"shown": ["junk"], "candidates": [{}]}, texts={"missing": "a year"})
    assert "a year" in _html(scene.client("alice"), f"/runs/{run.id}/")


def test_an_abstention_says_which_end_it_is_and_why(scene: Scene) -> None:
    page = _html(scene.client("alice"), f"/runs/{scene.unanswered.id}/")
    assert f'data-verdict="{scene.unanswered.verdict}"' in page
    assert {"not_found_within_budget": "Not found within the budget", "not_in_documents": "Not in the documents"}[
        scene.unanswered.verdict
    ] in page
    assert 'class="claims"' not in page


def test_a_broken_run_says_so(scene: Scene) -> None:
    run = question_ask(user=scene.cast.alice, corpus_slug="library", text=QUESTION)
    Run.objects.filter(id=run.id).update(state=RunState.FAILED, reason="broken")
    page = _html(scene.client("alice"), f"/runs/{run.id}/")
    assert "The run failed" in page and "hx-trigger" not in page


def test_what_people_and_documents_write_is_never_markup(scene: Scene) -> None:
    evil = '<img src=x onerror=alert(1)>[a](javascript:alert(1))"\'><script>alert(1)</script>'
    scene.bench.publish(f"{evil}\nThe valve Z-9 weighs 12 kg <b>net</b>.", external_id="evil.pdf", title=evil)
    run = scene.ask("alice", "What does the valve Z-9 weigh?")
    Question.objects.filter(id=run.question_id).update(text=f"{evil} {run.question.text}")
    assert run.verdict == "answered"
    citation = run.answer.claims.get().citations.get()
    alice, admin, auditor = scene.client("alice"), scene.client("admin"), scene.client("auditor")
    document = citation.document_id
    pages = [
        _html(alice, "/"), _html(alice, "/questions/"), _html(alice, f"/runs/{run.id}/"),
        _html(alice, f"/runs/{run.id}/citations/{citation.id}/"), _html(admin, f"/console/documents/{document}/"),
        _html(admin, f"/console/corpora/{scene.corpus.id}/"), _html(auditor, f"/audit/runs/{run.id}/"), _html(auditor, "/audit/"),
    ]  # fmt: skip
    for page in pages:
        assert "<img src=x" not in page and "<script>alert" not in page and "<b>net" not in page
        assert 'href="javascript' not in page
    assert "\u2039b&gt;net" in pages[2]  # the claim is inert, the quote is the page's, letter for letter
    assert "&lt;b&gt;net" in pages[3]


# --- evidence ----------------------------------------------------------------------------------------


def test_a_citation_shows_page_box_and_quote(scene: Scene) -> None:
    citation = scene.citation
    page = _html(scene.client("alice"), f"/runs/{scene.answered.id}/citations/{citation.id}/")
    assert f'src="/pages/{citation.page_id}/image"' in page and citation.quote in page
    boxes = re.findall(r'<rect class="box"[^>]* x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', page)
    expected = [[x0, y0, x1 - x0, y1 - y0] for x0, y0, x1, y1 in citation.boxes]
    assert [[round(float(n), 4) for n in box] for box in boxes] == [[round(n, 4) for n in box] for box in expected]
    assert "style=" not in page
    picture = scene.client("alice").get(f"/pages/{citation.page_id}/image")
    assert (picture.content, picture["Content-Type"]) == (b"picture of page 2", "image/jpeg")
    assert picture["Cache-Control"] == "private, no-store"


def test_a_citation_of_another_run_is_as_one_that_is_gone(scene: Scene) -> None:
    page = _html(scene.client("alice"), f"/runs/{scene.unanswered.id}/citations/{scene.citation.id}/")
    assert "not available any more" in page and "1200 euro" not in page
    assert scene.client("bob").get(f"/runs/{scene.unanswered.id}/citations/{scene.citation.id}/").status_code == 404


def test_evidence_that_was_superseded_says_so_and_does_not_open(scene: Scene) -> None:
    citation = scene.citation
    scene.bench.publish(TEXT.replace("1200", "1300"), external_id="prices.pdf", title=TITLE)
    client = scene.client("alice")
    run_page = _html(client, f"/runs/{scene.answered.id}/")
    assert "has changed since" in run_page and "superseded" in run_page and "1200 euro" in run_page
    page = _html(client, f"/runs/{scene.answered.id}/citations/{citation.id}/")
    assert "A newer version has taken its place" in page and "/image" not in page
    assert client.get(f"/pages/{citation.page_id}/image").status_code == 404


def test_evidence_whose_right_was_taken_away_shows_no_word_of_it(scene: Scene) -> None:
    citation = scene.citation
    access_replace(actor="test", corpus=scene.corpus, document=scene.document, allow=("board",))
    _assert_nothing_left(scene, citation.id)


def test_one_page_taken_away_takes_what_rests_on_it(scene: Scene) -> None:
    citation = scene.citation
    access_replace(actor="test", corpus=scene.corpus, document=scene.document, page_number=2, allow=("board",))
    _assert_nothing_left(scene, citation.id, title_too=False)


def test_withdrawn_evidence_shows_no_word_of_it(scene: Scene) -> None:
    citation = scene.citation
    document_withdraw(actor="test", document=scene.document)
    scene.bench.deliver()
    _assert_nothing_left(scene, citation.id)


def test_a_superseded_page_with_its_right_taken_away_shows_no_word(scene: Scene) -> None:
    citation = scene.citation
    scene.bench.publish(TEXT.replace("1200", "1300"), external_id="prices.pdf", title=TITLE)
    access_replace(actor="test", corpus=scene.corpus, document=scene.document, allow=("board",))
    _assert_nothing_left(scene, citation.id)


def test_a_purged_page_takes_the_words_with_it(scene: Scene) -> None:
    """Rows of a page that is no longer held are gone, and the citation with them."""
    citation = scene.citation
    Page.objects.get(id=citation.page_id).delete()
    _assert_nothing_left(scene, citation.id, title_too=False)


def _assert_nothing_left(scene: Scene, citation_id: object, title_too: bool = True) -> None:
    client = scene.client("alice")
    run_page = _html(client, f"/runs/{scene.answered.id}/")
    evidence = _html(client, f"/runs/{scene.answered.id}/citations/{citation_id}/")
    for page in (run_page, evidence):
        assert "1200 euro" not in page and (not title_too or TITLE not in page)
    assert "not available to you any more" in run_page and "not available any more" in evidence


def test_past_questions_are_ones_own(scene: Scene) -> None:
    scene.ask("bob", "A question of Bob's")
    alice, bob = _html(scene.client("alice"), "/questions/"), _html(scene.client("bob"), "/questions/")
    assert QUESTION in alice and "Bob&#x27;s" not in alice
    assert QUESTION not in bob and "Bob&#x27;s" in bob


def test_no_page_of_the_portal_shows_places_in_the_chain(scene: Scene) -> None:
    """An employee could count what others do."""
    client = scene.client("alice")
    seen = _html(client, f"/runs/{scene.answered.id}/") + _html(client, "/questions/") + _html(client, "/")
    assert "position" not in seen.lower() and "hash" not in re.sub(r'value="[^"]*"', "", seen).lower() and "seed" not in seen.lower()
