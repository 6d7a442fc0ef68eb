"""The one door: what each person sees, and that word statistics and counts come from visible pages only."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, connections, transaction

from ingestion.models import Page
from ingestion.seams import load
from ingestion.selectors import evidence, search
from ingestion.selectors.visibility import asker_for
from ingestion.services.corpora import access_replace
from ingestion.services.people import group_ensure, membership_start
from tests.ingestion.fakes import Workbench

TEXT = "\f".join(["INTRODUCTION\nthe company makes pumps", "PRICES\nthe pump costs 1200 euro", "SERVICE\nservice is free in year one"])


def _search(bench: Workbench, user, query: str, slug: str = "library"):
    asker = asker_for(user)
    scope = evidence.evidence_scope(asker, slug)
    return search.evidence_search(asker, scope, query, load("page_embedder"), 10)


def test_a_person_with_access_finds_the_page(bench: Workbench) -> None:
    bench.publish(TEXT)
    found = _search(bench, bench.cast.alice, "what does the pump cost")
    assert [found[0].number, len(found)] == [2, 3]
    assert found[0].section == "PRICES"


@pytest.mark.parametrize("who", ["bob", "admin", "auditor", "mallory"])
def test_others_see_exactly_what_they_would_see_without_documents(bench: Workbench, who: str) -> None:
    asker = asker_for(getattr(bench.cast, who))
    bench.corpus()
    before = (evidence.evidence_scope(asker, "library"), evidence.readable_corpora(asker), evidence.evidence_scope(asker, "absent"))
    bench.publish(TEXT)
    page = Page.objects.first()
    after = (evidence.evidence_scope(asker, "library"), evidence.readable_corpora(asker), evidence.evidence_scope(asker, "absent"))
    assert before == after
    assert evidence.evidence_page(asker, page.id) is None
    assert evidence.evidence_image(asker, page.id) is None
    assert evidence.page_visible(asker, [page.id]) == set()


def test_a_page_list_narrows_and_statistics_follow(bench: Workbench) -> None:
    document = bench.publish(TEXT)
    access_replace(actor="test", corpus=document.corpus, document=document, page_number=2, allow=("finance",))
    alice = asker_for(bench.cast.alice)
    scope = evidence.evidence_scope(alice, "library")
    assert scope.visible_pages == 2
    assert [c.number for c in _search(bench, bench.cast.alice, "what does the pump cost")] != []
    assert 2 not in [c.number for c in _search(bench, bench.cast.alice, "what does the pump cost")]
    assert evidence.evidence_term_pages(alice, scope, "pump euro")["euro"] == 0
    membership_start(
        group=group_ensure(organisation=bench.cast.organisation, name="finance"), member=bench.cast.alice.principal, actor="test"
    )
    assert _search(bench, bench.cast.alice, "what does the pump cost")[0].number == 2


def test_similarities_do_not_depend_on_pages_that_are_hidden(bench: Workbench) -> None:
    bench.publish(TEXT)
    before = [(c.number, c.similarity, c.signals) for c in _search(bench, bench.cast.alice, "pump costs euro service")]
    hidden = bench.publish("\f".join(["pump euro costs service"] * 9), external_id="hidden.pdf", allow=("finance",))
    assert hidden.live_build is not None
    assert [(c.number, c.similarity, c.signals) for c in _search(bench, bench.cast.alice, "pump costs euro service")] == before


def test_deny_wins(bench: Workbench) -> None:
    document = bench.publish(TEXT)
    access_replace(actor="test", corpus=document.corpus, document=document, allow=None, deny=("user:alice",))
    assert _search(bench, bench.cast.alice, "pump") == []


def test_a_superseded_page_is_not_served(bench: Workbench) -> None:
    bench.publish(TEXT)
    old = Page.objects.get(number=2)
    bench.publish(TEXT.replace("1200", "1300"))
    alice = asker_for(bench.cast.alice)
    assert evidence.evidence_page(alice, old.id) is None
    assert "1300" in evidence.evidence_page(alice, Page.objects.get(number=2, build__state="live").id).text


def test_a_pinned_scope_reads_one_build_across_a_switch(bench: Workbench) -> None:
    bench.publish(TEXT)
    alice = asker_for(bench.cast.alice)
    scope = evidence.evidence_scope(alice, "library")
    bench.publish(TEXT.replace("1200", "1300"))
    found = search.evidence_search(alice, scope, "pump cost", load("page_embedder"), 10)
    views = evidence.evidence_pages(alice, scope, [c.page_id for c in found])
    assert {view.build_id for view in views} == set(scope.build_ids)
    assert any("1200" in view.text for view in views) and not any("1300" in view.text for view in views)


def test_the_evidence_role_can_write_nothing(bench: Workbench) -> None:
    with pytest.raises(DatabaseError), transaction.atomic(using="evidence"), connections["evidence"].cursor() as cursor:
        cursor.execute("update ingestion_page set words = 0")
    with pytest.raises(DatabaseError), transaction.atomic(using="evidence"), connections["evidence"].cursor() as cursor:
        cursor.execute("set transaction read write")
        cursor.execute("delete from ingestion_page")
