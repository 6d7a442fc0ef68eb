"""The past as intervals tell it is the past as the filter showed it; what was deleted since is no longer held."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingestion.models import Document, Page, Principal, RoleAssignment, User
from ingestion.selectors.as_of import NotAnAuditor, as_of_pages, as_of_past, as_of_visible, moment_for
from ingestion.selectors.evidence import evidence_scope, page_visible
from ingestion.selectors.visibility import asker_for
from ingestion.services.corpora import access_replace
from ingestion.services.directory import directory_sync
from ingestion.services.documents import document_withdraw
from ingestion.services.people import group_ensure, membership_end, membership_start
from tests.ingestion.fakes import Workbench

NAMES = ("staff", "user:alice", "user:bob", "g1", "g2")
TAGS = st.lists(st.sampled_from(NAMES), max_size=2, unique=True)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("list"), st.sampled_from(["", "a", "a2", "b"]), st.none() | TAGS, TAGS),
        st.tuples(st.sampled_from(["join", "leave"]), st.sampled_from(["staff", "g1", "g2"])),
        st.tuples(st.just("publish"), st.sampled_from("ab"), st.integers(1, 99)),
        st.tuples(st.just("close"), st.booleans()),
    ),
    min_size=2, max_size=7,
)  # fmt: skip


def _directory(bench: Workbench, *events: dict) -> None:
    content = {"format": "docmemo.directory/1", "source": "t", "read_at": timezone.now().isoformat(), "events": list(events)}
    assert directory_sync(organisation=bench.cast.organisation, content=content, actor="test").faults == []


def _step(bench: Workbench, number: int, step: tuple) -> None:
    organisation, bob = bench.cast.organisation, bench.cast.bob.principal
    match step:
        case ("list", where, allow, deny):
            document = Document.objects.get(external_id=where[0]) if where else None
            page = int(where[1:]) if where[1:] else None
            access_replace(actor="t", corpus=bench.corpus(), document=document, page_number=page, allow=allow, deny=deny)
        case ("join", name):
            membership_start(group=group_ensure(organisation=organisation, name=name), member=bob, actor="t")
        case ("leave", name):
            membership_end(group=group_ensure(organisation=organisation, name=name), member=bob, actor="t")
        case ("publish", name, word):
            bench.publish(f"one {word} {number}\ftwo", external_id=name)
        case ("close", closed):
            kind = {"type": "user.deactivated"} if closed else {"type": "user.activated", "username": "bob"}
            _directory(bench, {**kind, "user": "u-bob", "revision": 1000 * len(STARTED) + number})


STARTED: list[int] = []


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_the_past_is_what_the_filter_showed_then(bench: Workbench, steps) -> None:
    STARTED.append(1)
    _directory(bench, {"type": "user.activated", "user": "u-bob", "username": "bob", "revision": 1000 * len(STARTED)})
    for name in "ab":
        bench.publish(f"start {len(STARTED)}\ftwo", external_id=name)
    seen = []
    for number, step in enumerate([("join", "staff"), *steps], start=1):
        _step(bench, number, step)
        bob = User.objects.get(id=bench.cast.bob.id)
        pages = set(Page.objects.values_list("id", flat=True))
        seen.append((timezone.now(), page_visible(asker_for(bob), pages), evidence_scope(asker_for(bob), "library")))
    for at, visible, scope in seen:
        moment = moment_for(bench.cast.auditor, User.objects.get(id=bench.cast.bob.id), at)
        assert as_of_visible(moment, set(Page.objects.values_list("id", flat=True))) == visible
        past = as_of_past(moment, "library")
        assert past.pages == visible
        assert {p.build_id for p in past.scope.pins} == set(scope.build_ids) and past.scope.visible_pages == scope.visible_pages


def test_what_was_deleted_is_no_longer_held(bench: Workbench) -> None:
    before = timezone.now()
    document = bench.publish("one\ftwo", title="Gone")
    hidden = bench.publish("one", external_id="hidden.pdf", allow=("user:admin",))
    bench.publish("one", external_id="stays.pdf")
    moment = moment_for(bench.cast.auditor, bench.cast.alice, timezone.now())
    held = as_of_past(moment, "library")
    assert len(held.pages) == 3 and held.no_longer_held == () and len(as_of_pages(held, list(held.pages))) == 3
    for gone in (document, hidden):
        document_withdraw(actor="test", document=gone)
    bench.deliver()  # deleted, and not purged yet: nothing of it is read any more
    past = as_of_past(moment, "library")
    assert len(past.pages) == 1 and past.no_longer_held == (document.id,)  # she is not told of what she could not see then
    assert len(as_of_pages(held, list(held.pages))) == 1  # also for a run that was under way
    bench.work()
    assert as_of_past(moment, "library") == past and not as_of_visible(moment, held.pages - past.pages)
    assert as_of_past(moment_for(bench.cast.auditor, bench.cast.alice, before), "library").no_longer_held == ()
    bench.publish("one\ftwo", title="Born again")  # under the same name: what was before its deletion stays forgotten
    assert as_of_past(moment, "library").pages == past.pages


def test_a_moment_before_and_rights_of_today_do_not_matter(bench: Workbench) -> None:
    early = timezone.now()
    document = bench.publish("one")
    at = timezone.now()
    auditor, alice, bob = bench.cast.auditor, bench.cast.alice, bench.cast.bob
    staff = Principal.objects.get(name="staff", organisation=bench.cast.organisation)
    membership_end(group=staff, member=alice.principal, actor="test")
    membership_start(group=staff, member=bob.principal, actor="test")
    pages = set(Page.objects.values_list("id", flat=True))
    assert not bench.sees("alice", document) and bench.sees("bob", document)
    assert as_of_visible(moment_for(auditor, alice, at), pages) == pages
    assert as_of_visible(moment_for(auditor, bob, at), pages) == set()
    assert as_of_past(moment_for(auditor, alice, early), "library").pages == frozenset()
    assert moment_for(auditor, alice, early - timedelta(days=1)).tags == frozenset()


@pytest.mark.parametrize("who", ["admin", "alice", "bob", "mallory"])
def test_nobody_but_an_auditor_of_the_organisation_looks_at_the_past(bench: Workbench, who: str) -> None:
    person = getattr(bench.cast, who)
    with pytest.raises(NotAnAuditor):
        moment_for(person, bench.cast.alice, timezone.now())
    with pytest.raises(NotAnAuditor):
        moment_for(bench.cast.auditor, bench.cast.mallory, timezone.now())
    RoleAssignment.objects.filter(user=bench.cast.auditor).delete()
    with pytest.raises(NotAnAuditor):
        moment_for(bench.cast.auditor, bench.cast.alice, timezone.now())
