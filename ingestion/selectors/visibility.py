"""Who carries which tags and roles, and which access classes those tags open: the rule of `domain/access.py` in SQL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import connections
from django.utils import timezone

from ingestion.domain.access import Tags
from ingestion.domain.evidence import Asker
from ingestion.models import AccessClass, Corpus, Principal, Role, RoleAssignment, User

# Groups nest; UNION (not UNION ALL) makes cycles harmless. A membership from outside counts only while it is fresh.
TAGS_SQL = """
with recursive carried(id) as (
    select p.id from ingestion_principal p join ingestion_user u on u.id = p.user_id
     where u.id = %(user)s and u.is_active
    union
    select m.group_id from carried c
      join ingestion_membership m on m.member_id = c.id
      join ingestion_principal g on g.id = m.group_id and g.organisation_id = %(organisation)s
     where m.valid_from <= %(at)s and (m.valid_to is null or m.valid_to > %(at)s)
       and (m.source = 'local' or m.confirmed_at + make_interval(secs => m.max_age_seconds) > %(at)s)
)
select id from carried
"""

# Every allow list that is present shares a tag, and the deny list shares none: migration 0040 holds the rule, for this and the policies.
VISIBLE_CLASSES_SQL = "select ac.id from docmemo_classes_for(%(organisation)s::uuid, %(tags)s::uuid[]) ac"


def tags_of(user_id: UUID, organisation_id: UUID, using: str = "evidence") -> Tags:
    """The person's own principal and every group he is in now, directly or through other groups."""
    with connections[using].cursor() as cursor:
        cursor.execute(TAGS_SQL, {"user": user_id, "organisation": organisation_id, "at": timezone.now()})
        return frozenset(row[0] for row in cursor.fetchall())


def asker_for(user: User, using: str = "evidence") -> Asker:
    """The asker with the tags that he carries at this moment; a person without an organisation carries none."""
    if user.organisation_id is None:
        return Asker(user.id, UUID(int=0), user.username, frozenset())
    return Asker(user.id, user.organisation_id, user.username, tags_of(user.id, user.organisation_id, using))


def access_parameters(asker: Asker) -> dict[str, Any]:
    """The parameters that `VISIBLE_CLASSES_SQL` names."""
    return {"organisation": asker.organisation_id, "tags": sorted(asker.tags)}


def visible_classes(asker: Asker, using: str = "evidence") -> list[UUID]:
    """The access classes that the asker may see; on the evidence alias within a `snapshot` of the asker, else there are none."""
    with connections[using].cursor() as cursor:
        cursor.execute(VISIBLE_CLASSES_SQL, access_parameters(asker))
        return [row[0] for row in cursor.fetchall()]


def class_is_visible(asker: Asker, access_class: AccessClass) -> bool:
    """The pure rule for one class; tests hold it equal to the SQL."""
    from ingestion.domain.access import may_see

    return access_class.organisation_id == asker.organisation_id and may_see(asker.tags, access_class.clause())


def roles_of(user: User) -> frozenset[tuple[str, UUID | None]]:
    """The roles that let a person manage; none of them lets him read."""
    if not user.is_authenticated or not user.is_active:
        return frozenset()
    return frozenset(RoleAssignment.objects.filter(user=user).values_list("role", "corpus_id"))


def is_admin(user: User) -> bool:
    """An administrator of the organisation."""
    return (Role.ORGANISATION_ADMIN.value, None) in roles_of(user)


def is_auditor(user: User) -> bool:
    """An auditor of the organisation."""
    return (Role.AUDITOR.value, None) in roles_of(user)


def manages_corpus(user: User, corpus: Corpus) -> bool:
    """An administrator of the corpus's organisation, or the owner of this corpus."""
    return user.is_authenticated and RoleAssignment.objects.lets_manage(user, corpus)


def managed_corpora(user: User) -> list[Corpus]:
    """Every corpus that the person may manage, deleted ones left out."""
    if not user.is_authenticated or user.organisation_id is None:
        return []
    corpora = Corpus.objects.filter(organisation_id=user.organisation_id, deleted_at__isnull=True).order_by("slug")
    roles = roles_of(user)
    if (Role.ORGANISATION_ADMIN.value, None) in roles:
        return list(corpora)
    return list(corpora.filter(id__in=[corpus for role, corpus in roles if role == Role.CORPUS_OWNER.value]))


def principal_names(organisation_id: UUID, ids: Iterable[UUID]) -> list[str]:
    """Names of principals for people who manage; ids that are gone are shown as they are."""
    ids = list(ids)
    names = dict(Principal.objects.filter(organisation_id=organisation_id, id__in=ids).values_list("id", "name"))
    return sorted(names.get(i, str(i)) for i in ids)
