"""The access rule: the pure predicate and the SQL agree on random directories; groups nest, cycles are harmless, deny wins."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingestion.domain.access import AccessClause, AccessList, combine, may_see
from ingestion.models import AccessClass, Membership, Organisation, Principal
from ingestion.selectors.evidence import snapshot
from ingestion.selectors.visibility import asker_for, visible_classes
from ingestion.services.access import class_intern
from ingestion.services.corpora import access_replace
from ingestion.services.people import group_ensure, membership_end, membership_start
from tests.ingestion.fakes import Workbench

TAGS = st.frozensets(st.integers(0, 5), max_size=4)
CLAUSES = st.tuples(TAGS, st.none() | TAGS, st.none() | TAGS, TAGS)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    clauses=st.lists(CLAUSES, min_size=1, max_size=8),
    carried=TAGS,
    nested=st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=5),
)
def test_the_sql_and_the_policy_see_what_the_predicate_sees(bench: Workbench, clauses, carried, nested) -> None:
    organisation = bench.cast.organisation
    groups = [group_ensure(organisation=organisation, name=f"g{n}") for n in range(6)]
    Membership.objects.filter(member__in=[group.id for group in groups]).delete()
    for member, group in nested:  # any nesting, cycles too
        if member != group:
            membership_start(group=groups[group], member=groups[member], actor="test")
    bob = bench.cast.bob.principal
    Membership.objects.filter(member=bob).delete()
    for number in carried:
        membership_start(group=groups[number], member=bob, actor="test")

    def tags(numbers):
        return None if numbers is None else frozenset(groups[n].id for n in numbers)

    made = {class_intern(organisation.id, AccessClause(*map(tags, clause))).id: clause for clause in clauses}
    asker = asker_for(bench.cast.bob)
    with snapshot(asker):
        by_sql = set(visible_classes(asker)) & set(made)
        by_policy = set(AccessClass.objects.using("evidence").values_list("id", flat=True)) & set(made)
    by_rule = {c.id for c in AccessClass.objects.filter(id__in=made) if may_see(asker.tags, c.clause())}
    assert by_sql == by_policy == by_rule
    assert AccessClass.objects.using("evidence").count() == 0  # outside a snapshot


@given(corpus=st.none() | TAGS, document=st.none() | TAGS, page=st.none() | TAGS, denies=st.tuples(TAGS, TAGS, TAGS), tags=TAGS)
def test_the_rule(corpus, document, page, denies, tags) -> None:
    def ids(numbers):
        return None if numbers is None else frozenset(UUID(int=n) for n in numbers)

    levels = [AccessList(ids(a), ids(d)) for a, d in zip((corpus, document, page), denies, strict=True)]
    seen = may_see(ids(tags), combine(*levels))
    denied = any(tags & d for d in denies)
    met = corpus is not None and all(tags & a for a in (corpus, document, page) if a is not None)
    assert seen == (met and not denied)
    if seen:  # a page may only narrow: what is seen with a page list is seen without it
        assert may_see(ids(tags), combine(levels[0], levels[1], AccessList(None, levels[2].deny)))


def test_groups_nest_and_a_cycle_is_harmless(bench: Workbench) -> None:
    organisation = bench.cast.organisation
    a, b, c = (group_ensure(organisation=organisation, name=name) for name in "abc")
    membership_start(group=b, member=a, actor="test")
    membership_start(group=c, member=b, actor="test")
    membership_start(group=a, member=c, actor="test")
    membership_start(group=a, member=bench.cast.bob.principal, actor="test")
    assert {a.id, b.id, c.id} <= asker_for(bench.cast.bob).tags
    membership_end(group=a, member=bench.cast.bob.principal, actor="test")
    assert asker_for(bench.cast.bob).tags == {bench.cast.bob.principal.id}


def test_a_membership_from_outside_counts_only_while_it_is_fresh(bench: Workbench) -> None:
    group = group_ensure(organisation=bench.cast.organisation, name="from-outside")
    now = timezone.now()
    membership = Membership.objects.create(
        group=group, member=bench.cast.bob.principal, source="oidc", valid_from=now, confirmed_at=now, max_age_seconds=60
    )
    assert group.id in asker_for(bench.cast.bob).tags
    Membership.objects.filter(id=membership.id).update(confirmed_at=now - timedelta(seconds=61))
    assert group.id not in asker_for(bench.cast.bob).tags


def test_an_inactive_person_carries_nothing(bench: Workbench) -> None:
    bench.cast.alice.is_active = False
    bench.cast.alice.save()
    assert asker_for(bench.cast.alice).tags == frozenset()


def test_every_change_of_rights_moves_the_epoch(bench: Workbench) -> None:
    corpus = bench.corpus()
    document = bench.publish("some text")

    def epoch() -> int:
        return Organisation.objects.get(id=bench.cast.organisation.id).access_epoch

    group = group_ensure(organisation=bench.cast.organisation, name="new")
    bob = bench.cast.bob
    changes = [
        lambda: membership_start(group=group, member=bob.principal, actor="test"),
        lambda: membership_end(group=group, member=bob.principal, actor="test"),
        lambda: access_replace(actor="test", corpus=corpus, document=document, allow=("new",)),
        lambda: access_replace(actor="test", corpus=corpus, allow=("staff", "new")),
        lambda: type(bob).objects.filter(id=bob.id).update(is_active=False),
        lambda: Principal.objects.filter(id=group.id).delete(),
    ]
    for number, change in enumerate(changes):
        before = epoch()
        change()
        assert epoch() > before, f"change {number} did not move the epoch"
