"""The audit: the trail of a run, texts held back where the auditor may not read, and the state of the chain."""

from __future__ import annotations

import json
from pathlib import Path

from django.conf import LazySettings
from django.test import Client

from ingestion.models import Page
from ingestion.services.audit import audit_verify, payloads_erase
from ingestion.services.corpora import access_replace
from qa.models import Run
from tests.qa.views.scene import QUESTION, TITLE, Scene


def _html(client: Client, path: str, **headers: str) -> str:
    answer = client.get(path, headers=headers or None)
    assert answer.status_code == 200, (path, answer.status_code)
    return answer.content.decode()



def test_the_trail_shows_everything_but_texts_that_are_not_the_auditors_to_read(scene: Scene) -> None:
    page = _html(scene.client("auditor"), f"/audit/runs/{scene.answered.id}/")
    run = scene.answered
    assert QUESTION in page and "alice" in page and "staff, user:alice" in page and str(run.seed) in page
    candidate = run.rounds.get(number=1).record["candidates"][0]
    for number in (candidate["similarity"], candidate["draw"], candidate["score"]):
        assert f"{number:.3f}" in page
    assert f"{TITLE}, page 2" in page
    assert "restricted" in page and "1200 euro" not in page and f"/pages/{scene.page.id}/image" not in page
    body = json.dumps(run.versions)
    assert run.versions["reader"].split("/")[0] in page, body


def test_an_auditor_whose_tags_cover_the_document_sees_the_texts(scene: Scene) -> None:
    access_replace(actor="test", corpus=scene.corpus, allow=("staff", "user:audra"))
    page = _html(scene.client("auditor"), f"/audit/runs/{scene.answered.id}/")
    assert "1200 euro" in page and "Reader input" in page and f"/pages/{scene.page.id}/image" in page


def test_one_hidden_page_restricts_the_texts_of_its_round(scene: Scene) -> None:
    access_replace(actor="test", corpus=scene.corpus, allow=("staff", "user:audra"))
    shown = scene.answered.rounds.get(number=1).record["shown"]
    other = Page.objects.filter(id__in=shown).exclude(id=scene.page.id).first()
    access_replace(actor="test", corpus=scene.corpus, document=scene.document, page_number=other.number, allow=("staff",))
    page = _html(scene.client("auditor"), f"/audit/runs/{scene.answered.id}/")
    assert "Reader input" not in page and "restricted" in page
    assert "1200 euro" in page  # the answer rests on page 2 alone, which is still the auditor's to read


def test_the_trail_tells_rows_that_differ_from_the_chain(scene: Scene) -> None:
    client = scene.client("auditor")
    path = f"/audit/runs/{scene.answered.id}/"
    assert "do not say what its audit entry says" not in _html(client, path)
    Run.objects.filter(id=scene.answered.id).update(verdict="not_in_documents")
    assert "do not say what its audit entry says" in _html(client, path)


def test_erased_texts_are_told_as_erased(scene: Scene) -> None:
    access_replace(actor="test", corpus=scene.corpus, allow=("staff", "user:audra"))
    assert payloads_erase(organisation=scene.cast.organisation, document=scene.document.id, actor="test")
    page = _html(scene.client("auditor"), f"/audit/runs/{scene.answered.id}/")
    assert "were erased" in page and "1200 euro" not in page and "Reader input" not in page
    assert f"{TITLE}, page 2" in page
    assert audit_verify(scene.cast.organisation) == []


def test_the_list_of_runs_is_filtered(scene: Scene) -> None:
    scene.ask("bob", "A question of Bob")
    client = scene.client("auditor")
    assert QUESTION in _html(client, "/audit/") and "A question of Bob" in _html(client, "/audit/")
    assert QUESTION not in _html(client, "/audit/?person=bob") and "A question of Bob" in _html(client, "/audit/?person=BOB")
    answered = _html(client, "/audit/?verdict=answered")
    assert QUESTION in answered and "A question of Bob" not in answered
    assert "No run fits" in _html(client, "/audit/?person=nobody")


def test_the_state_of_the_chain(scene: Scene) -> None:
    client = scene.client("auditor")
    assert 'data-chain="whole"' in _html(client, "/audit/chain/")
    fragment = _html(client, "/audit/chain/", **{"HX-Request": "true"})
    assert 'data-chain="whole"' in fragment and "<html" not in fragment


def test_a_cut_tail_is_told(scene: Scene, settings: LazySettings) -> None:
    """The file of published heads knows of an entry that the chain does not have."""
    file = Path(settings.PIPELINE["AUDIT_HEADS_DIR"]) / f"{scene.cast.organisation.id}.jsonl"
    with file.open("a") as heads:
        heads.write(json.dumps({"organisation": str(scene.cast.organisation.id), "position": 10_000, "hash": "0" * 64}) + "\n")
    page = _html(scene.client("auditor"), "/audit/chain/")
    assert 'data-chain="broken"' in page and "cut_tail" in page and "10000" in page
