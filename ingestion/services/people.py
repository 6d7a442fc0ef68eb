"""Accounts, groups, memberships and roles."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from ingestion.models import Corpus, Membership, Organisation, Principal, Role, RoleAssignment, User
from ingestion.services.audit import audit_append


@transaction.atomic
def group_ensure(*, organisation: Organisation, name: str) -> Principal:
    """The group of this name; made empty where it is missing, so that a list which names it lets nobody in until it has members."""
    principal, _ = Principal.objects.get_or_create(organisation=organisation, name=name, defaults={"kind": "group"})
    return principal


@transaction.atomic
def person_create(
    *,
    organisation: Organisation,
    username: str,
    password: str | None,
    name: str = "",
    groups: Iterable[str] = (),
    roles: Iterable[Role] = (),
    actor: str = "system",
) -> User:
    """An account with its principal (the tag that is his alone), in the groups and with the roles named."""
    user = User.objects.create_user(username, password, organisation=organisation, name=name)
    principal = Principal.objects.create(organisation=organisation, kind="user", name=f"user:{username}", user=user)
    for group in groups:
        membership_start(group=group_ensure(organisation=organisation, name=group), member=principal, actor=actor)
    for role in roles:
        RoleAssignment.objects.create(user=user, role=role)
    audit_append(
        organisation=organisation, act="person.created", subject=str(user.id), actor=actor, body={"roles": [str(r) for r in roles]}
    )
    return user


@transaction.atomic
def person_password_set(*, user: User, password: str, actor: str) -> None:
    """Another password; whoever is signed in with the former one is signed out."""
    user.set_password(password)
    user.save(update_fields=["password"])
    if user.organisation is not None:
        audit_append(organisation=user.organisation, act="person.password_changed", subject=str(user.id), actor=actor)


@transaction.atomic
def membership_start(*, group: Principal, member: Principal, actor: str) -> Membership:
    """Puts a principal into a group from now on; already in it is a no-op."""
    membership, made = Membership.objects.get_or_create(
        group=group, member=member, source="local", valid_to=None, defaults={"valid_from": timezone.now()}
    )
    if made:
        audit_append(
            organisation=group.organisation, act="membership.started", subject=str(group.id), actor=actor,
            body={"member": str(member.id)},
        )  # fmt: skip
    return membership


@transaction.atomic
def membership_end(*, group: Principal, member: Principal, actor: str) -> bool:
    """Takes a principal out of a group from now on, whatever put him in; returns whether he was in it."""
    now = timezone.now()
    lasting = Q(valid_to__isnull=True) | Q(valid_to__gt=now)
    ended = Membership.objects.filter(lasting, group=group, member=member).update(valid_to=now)
    if ended:
        audit_append(
            organisation=group.organisation, act="membership.ended", subject=str(group.id), actor=actor,
            body={"member": str(member.id)},
        )  # fmt: skip
    return bool(ended)


@transaction.atomic
def role_grant(*, user: User, role: Role, corpus: Corpus | None = None, actor: str) -> RoleAssignment:
    """Lets a person manage; grants no reading."""
    assignment, made = RoleAssignment.objects.get_or_create(user=user, role=role, corpus=corpus)
    if made and user.organisation is not None:
        audit_append(
            organisation=user.organisation, act="role.granted", subject=str(user.id), actor=actor,
            body={"role": str(role), "corpus": str(corpus.id) if corpus else None},
        )  # fmt: skip
    return assignment
