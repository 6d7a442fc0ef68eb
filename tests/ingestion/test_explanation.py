"""Explanations: the verdict is the rule's and the database's own, the deciding list is named, and no name leaks to who may not know it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingestion.domain.access import AccessList, combine, may_see
from ingestion.domain.derivation import Ruling, chains_from, explain
from ingestion.domain.ids import new_id
from ingestion.models import Corpus, Document, Membership, Page, Principal, Role
from ingestion.selectors.evidence import page_visible
from ingestion.selectors.explanation import NOT_NAMED, access_explanation, chains_of, ranges
from ingestion.selectors.visibility import asker_for
from ingestion.services.corpora import access_replace
from ingestion.services.people import group_ensure, membership_start, role_grant
from tests.ingestion.fakes import Workbench

IDS = [new_id() for _ in range(6)]
TAGS = st.frozensets(st.integers(1, 5), max_size=4)
EDGES = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), max_size=10)


def _lists(draw: tuple) -> list[AccessList]:
    allows, denies = draw
    return [
        AccessList(None if allow is None else frozenset(IDS[n] for n in allow), frozenset(IDS[n] for n in deny))
        for allow, deny in zip(allows, denies, strict=True)
    ]


LISTS = st.tuples(st.tuples(st.none() | TAGS, st.none() | TAGS, st.none() | TAGS), st.tuples(TAGS, TAGS, TAGS))


@given(edges=EDGES, lists=LISTS)
def test_the_explanation_says_what_the_predicate_says(edges, lists) -> None:
    groups: dict = {}
    for member, group in edges:
        groups.setdefault(IDS[member], set()).add(IDS[group])
    chains = chains_from(IDS[0], groups)
    levels = _lists(lists)
    found = explain(chains, *levels)
    assert found.visible == may_see(frozenset(chains), combine(*levels))
    assert (found.ruling is Ruling.EVERY_LIST_MET) == found.visible
    for step in found.steps:  # each way begins at the person and each link of it is a membership
        if step.chain:
            assert step.chain[0] == IDS[0]
            assert all(b in groups[a] for a, b in zip(step.chain, step.chain[1:], strict=False))
    if found.ruling is Ruling.DENIED:
        level = levels[["corpus", "document", "page"].index(found.level.value)]
        assert found.steps[-1].chain[-1] in level.deny


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edges=EDGES, lists=LISTS)
def test_the_explanation_says_what_the_database_filters(bench: Workbench, edges, lists) -> None:
    organisation = bench.cast.organisation
    document = Document.objects.first() or bench.publish("one\ftwo")
    principals = [bench.cast.bob.principal, *(group_ensure(organisation=organisation, name=f"g{n}") for n in range(1, 6))]
    Membership.objects.filter(group__name__startswith="g").delete()
    for member, group in edges:
        membership_start(group=principals[group], member=principals[member], actor="test")
    allows, denies = lists
    targets = ({}, {"document": document}, {"document": document, "page_number": 2})
    for allow, deny, target in zip(allows, denies, targets, strict=True):
        access_replace(
            actor="test", corpus=document.corpus, **target, deny=[principals[n].name for n in deny],
            allow=None if allow is None else [principals[n].name for n in allow],
        )  # fmt: skip
    asker = asker_for(bench.cast.bob)
    assert set(chains_of(bench.cast.bob)) == asker.tags
    pages = dict(Page.objects.filter(build=document.live_build).values_list("number", "id"))
    seen = page_visible(asker, pages.values())
    for number, page in pages.items():
        assert access_explanation(bench.cast.bob, document, number).visible == (page in seen)
    assert access_explanation(bench.cast.bob, document).visible == bool(seen)


def test_the_deciding_list_and_the_way_to_it(bench: Workbench) -> None:
    document = bench.publish("one\ftwo\fthree")
    organisation = bench.cast.organisation
    sales, staff = (group_ensure(organisation=organisation, name=name) for name in ("sales", "staff"))
    membership_start(group=sales, member=bench.cast.bob.principal, actor="test")
    membership_start(group=staff, member=sales, actor="test")
    access_replace(actor="test", corpus=document.corpus, document=document, page_number=2, allow=("user:alice",))
    found = access_explanation(bench.cast.bob, document)
    assert found.visible and [(part.pages, part.visible) for part in found.parts] == [(("1", "3"), True), (("2",), False)]
    assert found.parts[0].steps[0].way == ("user:bob", "sales", "staff")
    assert (found.parts[1].ruling, found.parts[1].level) == ("list_not_met", "page")
    access_replace(actor="test", corpus=document.corpus, document=document, allow=None, deny=("sales",))
    found = access_explanation(bench.cast.bob, document, 1)
    assert (found.visible, found.parts[0].ruling, found.parts[0].level) == (False, "denied", "document")
    assert found.parts[0].steps[-1].way == ("user:bob", "sales")


def test_what_shuts_out_before_any_list(bench: Workbench) -> None:
    document = bench.publish("one")
    alice = bench.cast.alice
    assert access_explanation(alice, document).visible
    assert access_explanation(alice, document, 9).circumstance == "no_such_page"
    alice.is_active = False
    alice.save()
    found = access_explanation(alice, document)
    assert (found.visible, found.circumstance) == (False, "person_inactive")
    Corpus.objects.update(deleted_at=document.created_at)
    assert access_explanation(bench.cast.bob, Document.objects.get()).circumstance == "corpus_deleted"


@pytest.mark.parametrize(("who", "named"), [("admin", "hidden"), ("olive", NOT_NAMED)])
def test_an_owner_is_not_told_names_of_groups_that_stand_in_no_list_of_his(bench: Workbench, who: str, named: str) -> None:
    from tests.people import PASSWORD, person_create

    document = bench.publish("one")
    organisation = bench.cast.organisation
    owner = person_create(organisation=organisation, username="olive", password=PASSWORD)
    role_grant(user=owner, role=Role.CORPUS_OWNER, corpus=document.corpus, actor="test")
    hidden = group_ensure(organisation=organisation, name="hidden")
    membership_start(group=hidden, member=bench.cast.bob.principal, actor="test")
    membership_start(group=Principal.objects.get(name="staff", organisation=organisation), member=hidden, actor="test")
    viewer = {"admin": bench.cast.admin, "olive": owner}[who]
    found = access_explanation(bench.cast.bob, document, viewer=viewer)
    assert found.parts[0].steps[0].way == ("user:bob", named, "staff")


def test_ranges() -> None:
    assert ranges([1, 2, 3, 5, 7, 8]) == ["1-3", "5", "7-8"]
    assert ranges([]) == []
