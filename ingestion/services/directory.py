"""Groups and people from a directory outside, and from an OpenID provider at sign-in.

Each event is applied in a transaction of its own with its audit entry, so one that cannot be applied stops no other. A membership from
outside lasts until the directory was read plus the maximum age; reading it again makes it last longer. What could not be read is left as
it is: it lapses by its age, and nothing else does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from pydantic import TypeAdapter, ValidationError

from ingestion.domain.directory import (
    Claims,
    DirectoryEvent,
    Envelope,
    GroupDeleted,
    GroupMembers,
    GroupUnavailable,
    UserDeactivated,
    UserPresent,
)
from ingestion.domain.errors import Permanent
from ingestion.models import DirectoryGroup, DirectoryPerson, Membership, Organisation, Principal, User
from ingestion.services.audit import audit_append
from ingestion.services.people import person_create

EVENT: TypeAdapter = TypeAdapter(DirectoryEvent)
Pair = tuple[UUID, UUID]  # of a group and its member
CLOCKS_DIFFER = timedelta(minutes=5)


class DirectoryRefused(Permanent):
    """The file, or one event of it, was not applied; the code says why."""


@dataclass
class SyncReport:
    """What a sync did. `faults` are (number of the event, code): those events changed nothing."""

    applied: int = 0
    stale: int = 0
    started: int = 0
    ended: int = 0
    unavailable: list[str] = field(default_factory=list)
    unknown_members: int = 0
    faults: list[tuple[int, str]] = field(default_factory=list)


def maximum_age() -> timedelta:
    """How long what was read of a directory counts."""
    return timedelta(seconds=settings.DIRECTORY_MAX_AGE_SECONDS)


def directory_sync(*, organisation: Organisation, content: Mapping[str, Any], actor: str) -> SyncReport:
    """Apply a file of events; raises `DirectoryRefused` for one that is none, and then nothing has changed.

    People come first and groups are made known before their lists are read, whatever the order in the file.
    """
    try:
        envelope = Envelope.model_validate(content)
    except ValidationError as error:
        raise DirectoryRefused("not_a_directory_file", f"The file is not in the format: {_where(error)}.") from error
    now = timezone.now()
    if envelope.read_at > now + CLOCKS_DIFFER:
        raise DirectoryRefused("read_in_the_future", "The file says that the directory was read in the future.")
    sync = _Sync(organisation, f"directory:{envelope.source}", min(envelope.read_at, now), actor)
    events: list[tuple[int, Any]] = []
    for number, raw in enumerate(envelope.events):
        try:
            events.append((number, EVENT.validate_python(raw)))
        except ValidationError:
            sync.report.faults.append((number, "not_an_event"))
    for kinds in ((UserPresent, UserDeactivated), (GroupDeleted,), (GroupMembers, GroupUnavailable)):
        chosen = [(number, event) for number, event in events if isinstance(event, kinds)]
        if GroupMembers in kinds:
            chosen = [pair for pair in chosen if sync.make_known(*pair)]
        for number, event in chosen:
            sync.apply(number, event)
    sync.close()
    return sync.report


def _where(error: ValidationError) -> str:
    """The places that do not fit, without what stood there."""
    return "; ".join(f"{'.'.join(map(str, one['loc']))} {one['type']}" for one in error.errors(include_input=False)[:3])


@dataclass
class _Sync:
    organisation: Organisation
    source: str
    read_at: datetime
    actor: str
    report: SyncReport = field(default_factory=SyncReport)

    def apply(self, number: int, event: Any) -> None:
        if isinstance(event, GroupUnavailable):
            self.report.unavailable.append(event.group)
            return
        act = {
            GroupMembers: self._group_members, GroupDeleted: self._group_deleted, UserPresent: self._user_present,
            UserDeactivated: self._user_deactivated,
        }[type(event)]  # fmt: skip
        try:
            with transaction.atomic():
                fresh = act(event)
        except DirectoryRefused as refused:
            self.report.faults.append((number, refused.code))
            return
        self.report.applied += fresh
        self.report.stale += not fresh

    def make_known(self, number: int, event: Any) -> bool:
        """Bind the event's group, so that another group of the file may have it as a member; False when it cannot be bound."""
        if isinstance(event, GroupMembers):
            try:
                with transaction.atomic():
                    self._bound(event)
            except DirectoryRefused as refused:
                self.report.faults.append((number, refused.code))
                return False
        return True

    @transaction.atomic
    def close(self) -> None:
        report = self.report
        audit_append(
            organisation=self.organisation, act="directory.synced", subject=self.source, actor=self.actor,
            body={
                "read_at": self.read_at.isoformat(), "applied": report.applied, "stale": report.stale, "started": report.started,
                "ended": report.ended, "unavailable": sorted(report.unavailable), "unknown_members": report.unknown_members,
                "faults": [list(fault) for fault in report.faults],
            },
        )  # fmt: skip

    # --- groups --------------------------------------------------------------------------------------

    def _held(self, key: str) -> DirectoryGroup | None:
        groups = DirectoryGroup.objects.select_for_update(of=("self",)).select_related("group__organisation")
        return groups.filter(organisation=self.organisation, source=self.source, key=key).first()

    def _older(self, event: GroupMembers | GroupDeleted, held: DirectoryGroup) -> bool:
        return event.revision < held.revision or (held.read_at is not None and self.read_at < held.read_at)

    def _bound(self, event: GroupMembers) -> DirectoryGroup:
        """The group's row; at the first sight it is bound to the group of its name, afterwards its name does not matter."""
        held = self._held(event.group)
        if held is not None and held.deleted_at is None:
            return held
        principal = held.group if held else _group_named(self.organisation, event.name)
        if DirectoryGroup.objects.filter(source=self.source, group=principal, deleted_at__isnull=True).exists():
            raise DirectoryRefused("name_taken", "Another group of the directory already has this name.")
        if held is not None:
            return held
        return DirectoryGroup.objects.create(organisation=self.organisation, source=self.source, key=event.group, group=principal)

    def _group_members(self, event: GroupMembers) -> bool:
        held = self._bound(event)
        if self._older(event, held):
            return False
        members = self._members(event)
        started, ended = memberships_put(
            source=self.source, pairs={(held.group_id, member) for member in members}, covers={"group_id": held.group_id},
            read_at=self.read_at,
        )  # fmt: skip
        held.revision, held.read_at, held.deleted_at = event.revision, self.read_at, None
        held.save()
        self._record(held.group_id, started, ended)
        return True

    def _members(self, event: GroupMembers) -> set[UUID]:
        users = {member.user for member in event.members if member.user}
        groups = {member.group for member in event.members if member.group}
        rows = {"organisation": self.organisation, "source": self.source}
        people = dict(
            DirectoryPerson.objects.filter(**rows, key__in=users, user__principal__isnull=False).values_list("key", "user__principal")
        )
        nested = dict(DirectoryGroup.objects.filter(**rows, key__in=groups, deleted_at__isnull=True).values_list("key", "group_id"))
        self.report.unknown_members += len(users - set(people)) + len(groups - set(nested))
        return {*people.values(), *nested.values()}

    def _group_deleted(self, event: GroupDeleted) -> bool:
        held = self._held(event.group)
        if held is None or self._older(event, held):
            return False
        end = {"source": self.source, "read_at": self.read_at}
        _, ended = memberships_put(pairs=set(), covers={"group_id": held.group_id}, **end)
        _, as_member = memberships_put(pairs=set(), covers={"member_id": held.group_id}, **end)
        held.revision, held.read_at, held.deleted_at = event.revision, self.read_at, timezone.now()
        held.save()
        self._record(held.group_id, set(), ended | as_member)
        return True

    def _record(self, group: UUID, started: set[Pair], ended: set[Pair]) -> None:
        self.report.started += len(started)
        self.report.ended += len(ended)
        _record_memberships(self.organisation, group, self.source, self.actor, started, ended)

    # --- people --------------------------------------------------------------------------------------

    def _person(self, key: str) -> DirectoryPerson | None:
        people = DirectoryPerson.objects.select_for_update(of=("self",)).select_related("user")
        return people.filter(organisation=self.organisation, source=self.source, key=key).first()

    def _user_present(self, event: UserPresent) -> bool:
        held = self._person(event.user)
        if held is None:
            user = self._account(event)
            held = DirectoryPerson(organisation=self.organisation, source=self.source, key=event.user, user=user)
            opens = event.type == "user.activated"  # an account that a person here closed is not opened by being met
        elif event.revision <= held.revision:
            return event.revision == held.revision  # told again: what a person here changed since stays
        else:
            opens = True
        if opens:
            self._open(held.user, True)
        held.revision = event.revision
        held.save()
        return True

    def _account(self, event: UserPresent) -> User:
        """The account of this name in the organisation, made without a password where there is none."""
        found = User.objects.filter(username=event.username).first()
        if found is None:
            return person_create(
                organisation=self.organisation, username=event.username, password=None, name=event.name, actor=self.actor
            )
        bound = DirectoryPerson.objects.filter(source=self.source, user=found).exists()
        if found.organisation_id != self.organisation.id or found.is_staff or bound:
            raise DirectoryRefused("username_taken", "An account of this name cannot be bound.")
        return found

    def _user_deactivated(self, event: UserDeactivated) -> bool:
        held = self._person(event.user)
        if held is None or event.revision <= held.revision:
            return False
        self._open(held.user, False)
        held.revision = event.revision
        held.save()
        return True

    def _open(self, user: User, active: bool) -> None:
        if User.objects.filter(id=user.id, is_active=not active).update(is_active=active):
            audit_append(
                organisation=self.organisation, act="person.activated" if active else "person.deactivated", subject=str(user.id),
                actor=self.actor, body={"source": self.source},
            )  # fmt: skip


def _group_named(organisation: Organisation, name: str) -> Principal:
    """The group of this name, made where there is none. A name that looks like a person's is refused."""
    if name.startswith("user:"):
        raise DirectoryRefused("name_of_a_person", "A group cannot bear the name of a person.")
    found, _ = Principal.objects.get_or_create(organisation=organisation, name=name, defaults={"kind": "group"})
    if found.kind != "group":
        raise DirectoryRefused("name_of_a_person", "A group cannot bear the name of a person.")
    return found


def memberships_put(
    *, source: str, pairs: set[Pair], covers: Mapping[str, UUID], read_at: datetime
) -> tuple[set[Pair], set[Pair]]:
    """Make (group, member) `pairs` the memberships of this source among those that `covers` selects; returns (started, ended).

    Those in force last until `read_at` plus the maximum age, never shorter than they did; others of the source end now. Memberships of
    other sources are not touched. The caller holds the lock of what it covers.
    """
    now = timezone.now()
    age = maximum_age()
    until = read_at + age
    open_rows = Membership.objects.filter(source=source, valid_to__gt=now, **covers)
    held = {(row.group_id, row.member_id): row for row in open_rows}
    ended = set(held) - pairs
    Membership.objects.filter(id__in=[held[pair].id for pair in ended]).update(valid_to=now)
    lasting = [held[pair].id for pair in pairs & set(held)]
    Membership.objects.filter(id__in=lasting, valid_to__lt=until).update(
        valid_to=until, confirmed_at=read_at, max_age_seconds=int(age.total_seconds())
    )
    started = pairs - set(held) if until > now else set()
    for group, member in sorted(started):
        Membership.objects.create(
            group_id=group, member_id=member, source=source, valid_from=now, valid_to=until, confirmed_at=read_at,
            max_age_seconds=int(age.total_seconds()),
        )  # fmt: skip
    return started, ended


def _record_memberships(
    organisation: Organisation, subject: UUID, source: str, actor: str, started: Iterable[Pair], ended: Iterable[Pair]
) -> None:
    for act, pairs in (("directory.memberships.started", started), ("directory.memberships.ended", ended)):
        told = sorted([str(group), str(member)] for group, member in pairs)
        if told:
            audit_append(organisation=organisation, act=act, subject=str(subject), actor=actor, body={"source": source, "pairs": told})


@transaction.atomic
def claims_apply(*, user: User, provider: str, claims: Claims) -> tuple[int, int]:
    """The groups that a verified token names, for this person, at sign-in; returns (started, ended).

    Claims that say nothing of groups, or not of all of them, change nothing: what was known lapses by its age.
    """
    organisation = user.organisation
    if organisation is None or not user.is_active or claims.groups is None:
        return 0, 0
    now = timezone.now()
    if claims.issued_at > now + CLOCKS_DIFFER:
        raise DirectoryRefused("read_in_the_future", "The token says that it was issued in the future.")
    source = f"oidc:{provider}"[:32]
    own = Principal.objects.select_for_update(no_key=True).get(user=user)
    newest = Membership.objects.filter(source=source, member=own).order_by("-confirmed_at").values_list("confirmed_at", flat=True).first()
    if newest is not None and claims.issued_at < newest:
        return 0, 0
    groups = {_group_named(organisation, name).id for name in claims.groups if not name.startswith("user:")}
    started, ended = memberships_put(
        source=source, pairs={(group, own.id) for group in groups}, covers={"member_id": own.id}, read_at=min(claims.issued_at, now)
    )
    _record_memberships(organisation, own.id, source, str(user.id), started, ended)
    return len(started), len(ended)
