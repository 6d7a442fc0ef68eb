"""People, groups and roles. A role lets a person manage; only tags (principals) let him read."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models

from ingestion.models.base import Identified


class Organisation(Identified):
    """A wall: nothing of one organisation is ever visible in another."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=200)
    # moved by database triggers with every change of rights; see migration 0002
    access_epoch = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.slug


class UserManager(BaseUserManager["User"]):
    """Makes accounts; `ingestion.services.people` makes them together with their principal."""

    def create_user(self, username: str, password: str | None = None, **fields: Any) -> User:
        user = self.model(username=username, **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, username: str, password: str | None = None, **fields: Any) -> User:
        return self.create_user(username, password, is_staff=True, is_superuser=True, **fields)


class User(Identified, AbstractBaseUser, PermissionsMixin):
    """An account of one organisation. `is_staff` opens the operator's Django admin and no document."""

    username = models.CharField(max_length=150, unique=True)
    name = models.CharField(max_length=200, blank=True)
    email = models.EmailField(blank=True)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, null=True, blank=True, related_name="users")
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = UserManager()

    USERNAME_FIELD = "username"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: list[str] = []

    def __str__(self) -> str:
        return self.username


class PrincipalKind(models.TextChoices):
    USER = "user"
    GROUP = "group"


class Principal(Identified):
    """What an access list names: a person or a group. Its id is the tag."""

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="principals")
    kind = models.CharField(max_length=8, choices=PrincipalKind.choices)
    name = models.CharField(max_length=200)
    user = models.OneToOneField(User, on_delete=models.CASCADE, null=True, blank=True, related_name="principal")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "name"], name="principal_name_once"),
            models.CheckConstraint(
                name="principal_user_iff_kind_user",
                condition=models.Q(kind="user", user__isnull=False) | models.Q(kind="group", user__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class MembershipQuerySet(models.QuerySet["Membership"]):
    """Memberships as they count; `selectors/visibility.py` says the same in SQL, and tests hold the two equal."""

    def counting(self, organisation_id: UUID, at: datetime) -> MembershipQuerySet:
        """Those in groups of the organisation that are in force and, where they come from outside, fresh at this moment."""
        age = models.ExpressionWrapper(
            models.F("confirmed_at") + models.F("max_age_seconds") * timedelta(seconds=1), output_field=models.DateTimeField()
        )
        return (
            self.filter(group__organisation_id=organisation_id, valid_from__lte=at)
            .filter(models.Q(valid_to__isnull=True) | models.Q(valid_to__gt=at))
            .annotate(fresh_until=age)
            .filter(models.Q(source="local") | models.Q(fresh_until__gt=at))
        )

    def groups_of(self, organisation_id: UUID, at: datetime) -> dict[UUID, set[UUID]]:
        """For each principal of the organisation, the groups that it is in directly at this moment."""
        found: dict[UUID, set[UUID]] = defaultdict(set)
        for member, group in self.counting(organisation_id, at).values_list("member_id", "group_id"):
            found[member].add(group)
        return found


class Membership(Identified):
    """A principal is in a group from `valid_from` until `valid_to`. From outside, it counts only while `confirmed_at` is fresh."""

    group = models.ForeignKey(Principal, on_delete=models.CASCADE, related_name="members")
    member = models.ForeignKey(Principal, on_delete=models.CASCADE, related_name="memberships")
    source = models.CharField(max_length=32, default="local")
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True, blank=True)
    confirmed_at = models.DateTimeField(null=True, blank=True)
    max_age_seconds = models.PositiveIntegerField(null=True, blank=True)

    objects = MembershipQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["group", "member", "source"], condition=models.Q(valid_to__isnull=True), name="membership_open_once"
            ),
            models.CheckConstraint(
                name="membership_outside_has_age",
                condition=models.Q(source="local") | models.Q(confirmed_at__isnull=False, max_age_seconds__isnull=False),
            ),
        ]


class Role(models.TextChoices):
    ORGANISATION_ADMIN = "organisation_admin"
    CORPUS_OWNER = "corpus_owner"
    AUDITOR = "auditor"
    OPERATOR = "operator"


class RoleAssignmentQuerySet(models.QuerySet["RoleAssignment"]):
    def lets_manage(self, user: User, corpus: Any) -> bool:
        """Whether the person is an administrator of the corpus's organisation, or the owner of this corpus."""
        if not user.is_active or user.organisation_id is None or corpus.organisation_id != user.organisation_id:
            return False
        admin = models.Q(role=Role.ORGANISATION_ADMIN, corpus__isnull=True)
        return self.filter(user_id=user.id).filter(admin | models.Q(role=Role.CORPUS_OWNER, corpus_id=corpus.id)).exists()


class RoleAssignment(Identified):
    """Lets a person manage (the organisation, or one corpus); never lets him read."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="roles")
    role = models.CharField(max_length=24, choices=Role.choices)
    corpus = models.ForeignKey("ingestion.Corpus", on_delete=models.CASCADE, null=True, blank=True, related_name="role_assignments")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = RoleAssignmentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "role", "corpus"], name="role_once", nulls_distinct=False),
            models.CheckConstraint(
                name="role_corpus_iff_owner",
                condition=models.Q(role="corpus_owner", corpus__isnull=False)
                | (~models.Q(role="corpus_owner") & models.Q(corpus__isnull=True)),
            ),
        ]
