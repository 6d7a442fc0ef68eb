"""A directory outside: whole lists, ages, what cannot be read; one dead group stops nothing, and a failing sync wipes nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingestion.domain.derivation import chains_from
from ingestion.domain.directory import claims_of
from ingestion.models import AuditEntry, DirectoryGroup, Membership, Principal, User
from ingestion.selectors import visibility
from ingestion.selectors.visibility import asker_for
from ingestion.services.audit import audit_verify
from ingestion.services.directory import DirectoryRefused, claims_apply, directory_sync
from ingestion.services.people import group_ensure, membership_end, membership_start
from tests.ingestion.fakes import Workbench

PEOPLE = [
    {"type": "user.created", "user": "u-alice", "username": "alice", "revision": 1},
    {"type": "user.created", "user": "u-bob", "username": "bob", "revision": 1},
]


def _members(group: str, *members: str, revision: int = 1, name: str | None = None) -> dict[str, Any]:
    """Members that begin with `u-` are people, the rest groups."""
    listed = [{"user": m} if m.startswith("u-") else {"group": m} for m in members]
    return {"type": "group.members", "group": group, "name": name or f"n-{group}", "revision": revision, "members": listed}


def _sync(bench: Workbench, *events: dict[str, Any], read_at: datetime | None = None, people: bool = True):
    content = {
        "format": "docmemo.directory/1", "source": "test", "read_at": (read_at or timezone.now()).isoformat(),
        "events": [*(PEOPLE if people else ()), *events],
    }  # fmt: skip
    return directory_sync(organisation=bench.cast.organisation, content=content, actor="test")


def _groups(user: User) -> set[str]:
    tags = asker_for(User.objects.get(id=user.id)).tags
    return set(Principal.objects.filter(id__in=tags, kind="group").values_list("name", flat=True))


def test_a_whole_list_is_in_force_and_each_change_is_in_the_chain(bench: Workbench) -> None:
    report = _sync(bench, _members("g1", "u-alice", "u-bob"), _members("g2", "u-bob"))
    assert (report.applied, report.started, report.faults) == (4, 3, [])
    assert _groups(bench.cast.alice) == {"staff", "n-g1"} and _groups(bench.cast.bob) == {"n-g1", "n-g2"}
    report = _sync(bench, _members("g1", "u-alice", revision=2))
    assert report.ended == 1 and _groups(bench.cast.bob) == {"n-g2"}  # g2 was not spoken of, so it stays
    told = AuditEntry.objects.filter(act__startswith="directory.").values_list("act", flat=True)
    assert set(told) == {"directory.synced", "directory.memberships.started", "directory.memberships.ended"}
    assert audit_verify(bench.cast.organisation) == []


def test_one_dead_or_hidden_group_stops_nothing_and_lapses_by_its_age(bench: Workbench, settings: LazySettings) -> None:
    settings.DIRECTORY_MAX_AGE_SECONDS = 3600
    start = timezone.now() - timedelta(minutes=50)
    _sync(bench, _members("hidden", "u-bob"), _members("g2", "u-bob"), read_at=start)
    dead = [{"type": "group.unavailable", "group": "hidden", "status": status} for status in ("403", "404", "timeout")]
    for event in dead:
        report = _sync(bench, event, _members("g2", "u-bob", "u-alice", revision=2), {"type": "group.members", "group": "broken"})
        assert report.unavailable == ["hidden"] and report.faults == [(3 + 1, "not_an_event")]
    assert _groups(bench.cast.bob) == {"n-hidden", "n-g2"} and "n-g2" in _groups(bench.cast.alice)
    hidden, read = (Membership.objects.get(group__name=name, member=bench.cast.bob.principal) for name in ("n-hidden", "n-g2"))
    assert hidden.valid_to == start + timedelta(hours=1) < read.valid_to  # only what was read lasts longer


@pytest.mark.parametrize("moment", [timedelta(minutes=59), timedelta(minutes=61)])
def test_past_its_age_a_membership_counts_as_absent(bench: Workbench, settings: LazySettings, moment: timedelta) -> None:
    settings.DIRECTORY_MAX_AGE_SECONDS = 3600
    _sync(bench, _members("g1", "u-bob"), read_at=timezone.now() - moment)
    assert ("n-g1" in _groups(bench.cast.bob)) == (moment < timedelta(hours=1))


def test_a_sync_that_fails_wipes_no_rights(bench: Workbench) -> None:
    _sync(bench, _members("g1", "u-alice", "u-bob"))
    before = set(Membership.objects.values_list("id", "valid_to"))
    other = {"format": "x", "source": "test", "read_at": "2026-01-01T00:00:00Z", "events": []}
    for content in ({}, {"format": "docmemo.directory/1"}, other):
        with pytest.raises(DirectoryRefused):
            directory_sync(organisation=bench.cast.organisation, content=content, actor="test")
    with pytest.raises(DirectoryRefused, match="future"):
        _sync(bench, _members("g1", revision=2), read_at=timezone.now() + timedelta(hours=1))
    _sync(bench, people=False)  # a directory that tells nothing
    _sync(bench, {"type": "group.members", "group": "g1", "name": "n-g1", "revision": 9, "members": None})
    _sync(bench, {"type": "group.members", "group": "g1", "name": "n-g1", "revision": 9, "members": [{"user": "u-bob", "group": "x"}]})
    assert set(Membership.objects.values_list("id", "valid_to")) == before


def test_older_lists_change_nothing_in_whatever_order_they_come(bench: Workbench) -> None:
    now = timezone.now()
    _sync(bench, _members("g1", "u-alice", revision=5), read_at=now)
    for revision, read_at in ((4, now), (5, now - timedelta(seconds=1))):
        assert _sync(bench, _members("g1", "u-bob", revision=revision), read_at=read_at).stale == 1
    assert _sync(bench, {"type": "group.deleted", "group": "g1", "revision": 4}, read_at=now).stale == 1
    assert "n-g1" in _groups(bench.cast.alice) and "n-g1" not in _groups(bench.cast.bob)
    until = Membership.objects.get(group__name="n-g1").valid_to
    _sync(bench, _members("g1", "u-alice", revision=5), read_at=now)  # a file applied again makes nothing last longer
    assert Membership.objects.get(group__name="n-g1").valid_to == until


def test_groups_that_are_gone(bench: Workbench) -> None:
    _sync(bench, _members("inner", "u-bob"), _members("outer", "inner"))
    assert _groups(bench.cast.bob) == {"n-inner", "n-outer"}
    _sync(bench, {"type": "group.deleted", "group": "inner", "revision": 2})
    assert _groups(bench.cast.bob) == set()
    _sync(bench, _members("another", "u-alice", name="n-inner"))  # its name is free again
    report = _sync(bench, _members("inner", "u-bob", revision=3))
    assert [code for _, code in report.faults] == ["name_taken"] and _groups(bench.cast.bob) == set()


def test_a_name_takes_no_rights_over(bench: Workbench) -> None:
    _sync(bench, _members("g1", "u-alice", name="board"))
    report = _sync(
        bench, _members("g2", "u-bob", name="board"), _members("g3", "u-bob", name="user:alice"), _members("g4", "u-bob", name="ok"),
        _members("g1", "u-alice", name="staff", revision=2),
    )  # fmt: skip
    assert sorted(code for _, code in report.faults) == ["name_of_a_person", "name_taken"]
    assert _groups(bench.cast.bob) == {"ok"} and _groups(bench.cast.alice) == {"staff", "board"}


def test_local_memberships_and_other_sources_are_not_touched(bench: Workbench) -> None:
    staff = Principal.objects.get(name="staff", organisation=bench.cast.organisation)
    _sync(bench, _members("g1", "u-bob", name="staff"))
    assert "staff" in _groups(bench.cast.alice) and "staff" in _groups(bench.cast.bob)
    _sync(bench, _members("g1", name="staff", revision=2))
    assert "staff" in _groups(bench.cast.alice) and "staff" not in _groups(bench.cast.bob)
    _sync(bench, _members("g1", "u-bob", name="staff", revision=3))
    assert membership_end(group=staff, member=bench.cast.bob.principal, actor="test") and "staff" not in _groups(bench.cast.bob)


def test_people_who_come_and_go(bench: Workbench) -> None:
    report = _sync(
        bench, {"type": "user.created", "user": "u-new", "username": "nina", "name": "Nina", "revision": 1},
        {"type": "user.created", "user": "u-m", "username": "mallory", "revision": 1}, _members("g1", "u-new"),
    )  # fmt: skip
    nina = User.objects.get(username="nina")
    assert not nina.has_usable_password() and _groups(nina) == {"n-g1"}
    assert [code for _, code in report.faults] == ["username_taken"]  # of another organisation
    gone = {"type": "user.deactivated", "user": "u-new", "revision": 2}
    _sync(bench, gone)
    assert not User.objects.get(username="nina").is_active and asker_for(User.objects.get(username="nina")).tags == frozenset()
    _sync(bench, {"type": "user.activated", "user": "u-new", "username": "nina", "revision": 1})
    assert not User.objects.get(username="nina").is_active
    _sync(bench, {"type": "user.activated", "user": "u-new", "username": "nina", "revision": 3})
    assert User.objects.get(username="nina").is_active
    User.objects.filter(username="alice").update(is_active=False)  # closed by a person here
    _sync(bench)
    assert not User.objects.get(username="alice").is_active
    acts = list(AuditEntry.objects.filter(act__in=["person.deactivated", "person.activated"]).values_list("act", flat=True))
    assert sorted(acts) == ["person.activated", "person.deactivated"]


NESTED = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edges=NESTED, direct=st.frozensets(st.integers(0, 4), max_size=3))
def test_nested_groups_and_cycles(bench: Workbench, edges, direct) -> None:
    revision = DirectoryGroup.objects.order_by("-revision").values_list("revision", flat=True).first() or 0
    lists = [[f"g{inner}" for inner, outer in edges if outer == n] + (["u-bob"] if n in direct else []) for n in range(5)]
    report = _sync(bench, *(_members(f"g{n}", *listed, revision=revision + 1) for n, listed in enumerate(lists)))
    assert (report.faults, report.unknown_members) == ([], 0)
    groups = {"bob": {f"n-g{n}" for n in direct}}
    for inner, outer in edges:
        groups.setdefault(f"n-g{inner}", set()).add(f"n-g{outer}")
    assert _groups(bench.cast.bob) == set(chains_from("bob", groups)) - {"bob"}
    tags = visibility.tags_of(bench.cast.bob.id, bench.cast.organisation.id)
    own = bench.cast.bob.principal.id
    assert tags == set(chains_from(own, Membership.objects.groups_of(bench.cast.organisation.id, timezone.now())))


def test_claims_are_the_whole_list_of_their_provider_or_change_nothing(bench: Workbench) -> None:
    bob, now = bench.cast.bob, timezone.now()
    local = group_ensure(organisation=bench.cast.organisation, name="local")
    membership_start(group=local, member=bob.principal, actor="test")

    def signs_in(**token: Any) -> tuple[int, int]:
        at = token.pop("at", timezone.now())
        return claims_apply(user=bob, provider="idp", claims=claims_of({"sub": "s", **token}, at))

    assert signs_in(groups=["staff", "sales", "user:alice"]) == (2, 0) and _groups(bob) == {"local", "staff", "sales"}
    for partial in ({}, {"_claim_names": {"groups": "src1"}}, {"groups": ["x"], "hasgroups": True}):
        assert signs_in(**partial) == (0, 0) and _groups(bob) == {"local", "staff", "sales"}
    assert signs_in(groups=["x"], at=now - timedelta(hours=1)) == (0, 0)  # an older token, shown again
    assert signs_in(groups=["sales"]) == (0, 1) and _groups(bob) == {"local", "sales"}
    assert signs_in(groups=[]) == (0, 1) and _groups(bob) == {"local"}
    bob.is_active = False
    assert signs_in(groups=["staff"]) == (0, 0)
