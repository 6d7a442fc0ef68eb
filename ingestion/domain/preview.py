"""What a change of access lists would do, by the same rule that decides: who would see more, who would see less. Nothing is written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from ingestion.domain.access import AccessClause, Tags, may_see


@dataclass(frozen=True, slots=True)
class Portion:
    """Pages of one document that carry the same clause now, and would carry the same clause afterwards."""

    document: UUID
    before: AccessClause
    after: AccessClause
    pages: int


@dataclass(frozen=True, slots=True)
class Effect:
    """What one person would gain and lose: documents of which he would see a first page or no page any more, and pages."""

    person: UUID
    pages_gained: int = 0
    pages_lost: int = 0
    documents_gained: tuple[UUID, ...] = ()
    documents_lost: tuple[UUID, ...] = ()


def effects(people: Mapping[UUID, Tags], portions: Sequence[Portion]) -> list[Effect]:
    """The people for whom something would change, with what; in the order of their ids."""
    clauses = {clause for portion in portions for clause in (portion.before, portion.after)}
    named = frozenset().union(*(_tags_of(clause) for clause in clauses))
    known: dict[Tags, Effect] = {}
    found = []
    for person in sorted(people):
        tags = people[person] & named  # people who carry the same of the named tags fare alike
        if tags not in known:
            known[tags] = _effect(person, {clause: may_see(tags, clause) for clause in clauses}, portions)
        effect = replace(known[tags], person=person)
        if effect.pages_gained or effect.pages_lost:
            found.append(effect)
    return found


def _tags_of(clause: AccessClause) -> Tags:
    return clause.corpus_allow | (clause.document_allow or frozenset()) | (clause.page_allow or frozenset()) | clause.deny


def _effect(person: UUID, sees: Mapping[AccessClause, bool], portions: Iterable[Portion]) -> Effect:
    gained = lost = 0
    before: set[UUID] = set()
    after: set[UUID] = set()
    for portion in portions:
        then, now = sees[portion.after], sees[portion.before]
        gained += portion.pages if then and not now else 0
        lost += portion.pages if now and not then else 0
        if now:
            before.add(portion.document)
        if then:
            after.add(portion.document)
    return Effect(person, gained, lost, tuple(sorted(after - before)), tuple(sorted(before - after)))


def digest(target: Iterable[object], lists: Iterable[AccessClause], found: Iterable[Effect]) -> str:
    """A short mark of what was seen: the level, its list before and after, and every effect. SHA-256, the first 32 hexadecimal digits."""
    parts = ["|".join(str(part) for part in target), *(clause.digest() for clause in lists)]
    parts += [
        f"{e.person} {e.pages_gained} {e.pages_lost} {','.join(map(str, e.documents_gained))} {','.join(map(str, e.documents_lost))}"
        for e in found
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
