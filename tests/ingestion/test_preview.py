"""Previews: what is said beforehand is what happens, nothing is written by looking, and a stale one is refused and shown anew."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ingestion.models import (
    AccessAssignment,
    AuditEntry,
    Corpus,
    Document,
    Membership,
    Organisation,
    Page,
    Principal,
    Role,
    User,
)
from ingestion.selectors.evidence import page_visible
from ingestion.selectors.visibility import asker_for
from ingestion.services.access_change import Change, ChangeRefused, Place, access_change, change_preview
from ingestion.services.access_preview import access_preview, names_previewed
from ingestion.services.corpora import PreviewStale, access_replace, corpus_create
from ingestion.services.people import group_ensure, membership_start, person_create, role_grant
from tests.ingestion.fakes import Workbench
from tests.people import PASSWORD

NAMES = ("staff", "user:alice", "user:bob", "g1", "g2")
TAGS = st.lists(st.sampled_from(NAMES), max_size=3, unique=True)
CHANGES = st.lists(
    st.tuples(st.sampled_from(["", "a", "b", "a2", "b1"]), st.none() | TAGS, TAGS), min_size=1, max_size=4
)


@pytest.fixture
def owner(bench: Workbench) -> User:
    person = person_create(organisation=bench.cast.organisation, username="olive", password=PASSWORD)
    role_grant(user=person, role=Role.CORPUS_OWNER, corpus=bench.corpus(), actor="test")
    return person


def _sees(bench: Workbench) -> dict[str, dict[str, set]]:
    """By the database's own filter: person -> document -> visible pages."""
    people = User.objects.filter(organisation=bench.cast.organisation)
    documents = {d.external_id: set(Page.objects.filter(build=d.live_build).values_list("id", flat=True)) for d in Document.objects.all()}
    return {p.username: {name: page_visible(asker_for(p), pages) for name, pages in documents.items()} for p in people}


def _written() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (AccessAssignment, Principal, AuditEntry, Membership))


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=CHANGES)
@example(changes=[("a2", ["user:bob"], []), ("", ["staff", "g1"], []), ("a", None, ["user:alice"]), ("a2", None, ["g1"])])
@example(changes=[("", ["g1"], []), ("b1", ["g2"], []), ("b", [], []), ("b", None, []), ("b1", None, [])])
def test_what_the_preview_says_is_what_happens(bench: Workbench, changes) -> None:
    organisation = bench.cast.organisation
    if not Document.objects.exists():
        for group in ("g1", "g2"):
            group_ensure(organisation=organisation, name=group)
        membership_start(group=Principal.objects.get(name="g1", organisation=organisation), member=bench.cast.bob.principal, actor="t")
        for name in "ab":
            bench.publish("one\ftwo\fthree", external_id=name)
    corpus = bench.corpus()
    for where, allow, deny in changes:
        document = None if not where else Document.objects.get(external_id=where[0])
        target = {"corpus": corpus, "document": document, "page_number": int(where[1:]) if where[1:] else None}
        before, rows, epoch = _sees(bench), _written(), Organisation.objects.get(id=organisation.id).access_epoch
        preview = access_preview(**target, access=names_previewed(organisation, allow, deny))
        assert (_written(), Organisation.objects.get(id=organisation.id).access_epoch) == (rows, epoch)
        access_replace(actor="test", **target, allow=allow, deny=deny, seen=preview.digest)
        after = _sees(bench)
        happened = {}
        for person in before:
            gained = sum(len(after[person][d] - before[person][d]) for d in before[person])
            lost = sum(len(before[person][d] - after[person][d]) for d in before[person])
            new = tuple(d for d in sorted(before[person]) if after[person][d] and not before[person][d])
            gone = tuple(d for d in sorted(before[person]) if before[person][d] and not after[person][d])
            if gained or lost:
                happened[person] = (gained, lost, new, gone)
        told = {p.username: (p.pages_gained, p.pages_lost, p.documents_gained, p.documents_lost) for p in preview.people}
        assert told == happened


def test_a_stale_preview_is_refused_and_shown_anew(bench: Workbench, owner: User) -> None:
    document = bench.publish("one\ftwo")
    place, change = Place(document.corpus), Change(grant=True, allow=("user:bob",))
    shown = change_preview(manager=owner, place=place, change=change)
    assert [(p.username, p.pages_gained) for p in shown.gaining] == [("bob", 2)] and not shown.losing
    group = group_ensure(organisation=bench.cast.organisation, name="staff")
    membership_start(group=group, member=bench.cast.bob.principal, actor="test")  # bob sees it already now
    rows = _written()
    with pytest.raises(PreviewStale) as refused:
        access_change(manager=owner, place=place, change=change, seen=shown.digest)
    assert refused.value.fresh.people == () and _written() == rows
    assert access_change(manager=owner, place=place, change=change, seen=refused.value.fresh.digest) == 2


def test_grants_and_revocations_at_each_level(bench: Workbench, owner: User) -> None:
    document = bench.publish("one\ftwo")
    corpus = document.corpus
    assert not bench.sees("bob", document)
    access_change(manager=owner, place=Place(corpus), change=Change(grant=True, allow=("user:bob",)))
    assert bench.sees("bob", document) and bench.sees("alice", document)  # the names that stood there stay
    page = Place(corpus, document, 2)
    with pytest.raises(ChangeRefused, match="would_narrow"):
        access_change(manager=owner, place=page, change=Change(grant=True, allow=("user:alice",)))
    access_change(manager=owner, place=page, change=Change(grant=True, allow=("user:alice",), narrow=True))
    numbers = dict(Page.objects.filter(build=document.live_build).values_list("number", "id"))
    assert page_visible(asker_for(bench.cast.bob), numbers.values()) == {numbers[1]}
    access_change(manager=owner, place=page, change=Change(grant=False, widen=True))
    assert page_visible(asker_for(bench.cast.bob), numbers.values()) == set(numbers.values())
    access_change(manager=owner, place=Place(corpus, document), change=Change(grant=True, deny=("user:bob",)))
    assert not bench.sees("bob", document) and bench.sees("alice", document)
    access_change(manager=owner, place=Place(corpus, document), change=Change(grant=False, deny=("user:bob",)))
    assert bench.sees("bob", document)
    access_change(manager=owner, place=Place(corpus), change=Change(grant=False, allow=("user:bob",)))
    assert not bench.sees("bob", document)
    assert AuditEntry.objects.filter(act="access.replaced", actor=str(owner.id)).count() == 6
    for change in (Change(grant=False, allow=("user:bob",)), Change(grant=True, allow=("nobody",)), Change(grant=False, widen=True)):
        with pytest.raises(ChangeRefused):
            access_change(manager=owner, place=Place(corpus), change=change)


def test_an_owner_changes_nothing_outside_his_corpora(bench: Workbench, owner: User) -> None:
    bench.corpus()
    other = corpus_create(actor="test", organisation=bench.cast.organisation, slug="other", allow=("staff",))
    foreign = corpus_create(actor="test", organisation=bench.cast.elsewhere, slug="library", allow=("staff",))
    change = Change(grant=True, allow=("user:olive",))
    rows = _written()
    cast = bench.cast
    for person, corpus in ((owner, other), (owner, foreign), (cast.alice, other), (cast.auditor, other), (cast.admin, foreign)):
        for act in (change_preview, access_change):
            with pytest.raises(ChangeRefused, match="not_found"):
                act(manager=person, place=Place(corpus), change=change)
    document = bench.publish("one", external_id="b", corpus=other)
    own = Corpus.objects.get(slug="library", organisation=bench.cast.organisation)
    with pytest.raises(ValueError, match="not of this corpus"):  # a document of another corpus named beside one's own
        access_change(manager=owner, place=Place(own, document), change=Change(grant=True, deny=("user:bob",)))
    owner.is_active = False
    owner.save()
    with pytest.raises(ChangeRefused):
        access_change(manager=owner, place=Place(bench.corpus()), change=change)
    assert AccessAssignment.objects.count() == rows[0]
