"""Why a person may or may not see something: the rule of `access.py`, with the clause that decides and the way the tag came to him.

No content and no names: ids alone. `explain` never decides by itself; tests hold its verdict equal to `may_see` and to the database's
own filter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from ingestion.domain.access import AccessList, Tags

# From the person's own principal to the group that is reached, both included.
Chain = tuple[UUID, ...]


class Level(StrEnum):
    CORPUS = "corpus"
    DOCUMENT = "document"
    PAGE = "page"


class Ruling(StrEnum):
    """What decided: every list is met; a deny list holds one of the person's tags; an allow list holds none of them."""

    EVERY_LIST_MET = "every_list_met"
    DENIED = "denied"
    LIST_NOT_MET = "list_not_met"
    NO_CEILING = "no_ceiling"  # the corpus has no allow list, or an empty one: it lets nobody in


@dataclass(frozen=True, slots=True)
class Step:
    """One list that was looked at. `chain` leads to the tag by which it is met (allow) or by which it strikes (deny)."""

    level: Level
    kind: str  # allow, deny
    met: bool
    chain: Chain = ()


@dataclass(frozen=True, slots=True)
class Derivation:
    """The verdict with the steps that led to it, in the order they were looked at; the last one decided."""

    visible: bool
    ruling: Ruling
    level: Level | None
    steps: tuple[Step, ...]


def chains_from(own: UUID, groups_of: Mapping[UUID, Iterable[UUID]]) -> dict[UUID, Chain]:
    """Every tag that `own` carries, with the shortest chain of groups to it; cycles are harmless.

    `groups_of` holds, for each principal, the groups that it is in directly, at the moment asked about.
    """
    chains: dict[UUID, Chain] = {own: (own,)}
    waiting = deque([own])
    while waiting:
        member = waiting.popleft()
        for group in sorted(groups_of.get(member, ())):
            if group not in chains:
                chains[group] = (*chains[member], group)
                waiting.append(group)
    return chains


def _shortest(tags: Tags, chains: Mapping[UUID, Chain]) -> Chain:
    shared = [chains[tag] for tag in tags if tag in chains]
    return min(shared, key=lambda chain: (len(chain), chain), default=())


def explain(
    chains: Mapping[UUID, Chain], corpus: AccessList, document: AccessList | None = None, page: AccessList | None = None
) -> Derivation:
    """The derivation for a person who carries the tags of `chains`, under the three levels' lists.

    Deny lists are looked at first, since deny wins; then the allow lists from the corpus downwards, up to the first that is not met.
    """
    none = AccessList()
    levels = ((Level.CORPUS, corpus), (Level.DOCUMENT, document or none), (Level.PAGE, page or none))
    steps: list[Step] = []
    for level, access in levels:
        if access.deny:
            chain = _shortest(access.deny, chains)
            steps.append(Step(level, "deny", bool(chain), chain))
            if chain:
                return Derivation(False, Ruling.DENIED, level, tuple(steps))
    for level, access in levels:
        allow = access.allow
        if level is Level.CORPUS and not allow:
            steps.append(Step(level, "allow", False))
            return Derivation(False, Ruling.NO_CEILING, level, tuple(steps))
        if allow is None:
            continue
        chain = _shortest(allow, chains)
        steps.append(Step(level, "allow", bool(chain), chain))
        if not chain:
            return Derivation(False, Ruling.LIST_NOT_MET, level, tuple(steps))
    return Derivation(True, Ruling.EVERY_LIST_MET, None, tuple(steps))
