"""Why a person may or may not see a document or a page, for people who manage its corpus. Ids, names and rules; never content.

A name of a group is shown to an administrator, and to an owner where it stands in a list of a corpus that he owns. Other groups on
the way are counted, not named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone

from ingestion.domain.access import AccessList
from ingestion.domain.derivation import Chain, Derivation, Level, Ruling, Step, chains_from, explain
from ingestion.models import AccessAssignment, Document, Membership, Organisation, Page, Principal, User
from ingestion.selectors.visibility import is_admin, managed_corpora

NOT_NAMED = "a group that is not yours to name"
PLACES = {Level.CORPUS: "the corpus", Level.DOCUMENT: "the document", Level.PAGE: "the page"}


@dataclass(frozen=True, slots=True)
class StepView:
    """A step in names: the way from the person to the tag, where there is one."""

    level: str
    kind: str
    met: bool
    way: tuple[str, ...]

    @property
    def sentence(self) -> str:
        place = PLACES[Level(self.level)]
        by = f" through {' > '.join(self.way)}" if self.way else ""
        if self.kind == "deny":
            return f"The deny list of {place} strikes{by}." if self.met else f"The deny list of {place} does not strike."
        return f"The allow list of {place} is met{by}." if self.met else f"The allow list of {place} is not met."


@dataclass(frozen=True, slots=True)
class Part:
    """Pages that stand under the same lists; `pages` holds ranges such as "1-4"."""

    pages: tuple[str, ...]
    count: int
    visible: bool
    ruling: str
    level: str
    steps: tuple[StepView, ...]

    @property
    def sentence(self) -> str:
        place = PLACES[Level(self.level)] if self.level else ""
        return {
            Ruling.EVERY_LIST_MET: "May see: every list is met, and no deny list strikes.",
            Ruling.DENIED: f"May not see: the deny list of {place} wins.",
            Ruling.LIST_NOT_MET: f"May not see: the allow list of {place} is the first that is not met.",
            Ruling.NO_CEILING: "May not see: the corpus has no allow list, and so lets nobody in.",
        }[Ruling(self.ruling)]


@dataclass(frozen=True, slots=True)
class Explanation:
    """`circumstance` says what shuts everybody or this person out before any list is looked at; then no part decides."""

    person: str
    document: UUID
    page_number: int | None
    visible: bool
    circumstance: str
    parts: tuple[Part, ...]


CIRCUMSTANCES = {
    "": "",
    "person_inactive": "The account is closed, so it carries no tags at all.",
    "document_withdrawn": "The document was withdrawn.",
    "corpus_deleted": "The corpus was deleted.",
    "not_live": "No version of the document is live.",
    "no_such_page": "The live version has no such page.",
}


def lists_by_level(document: Document) -> tuple[AccessList, AccessList, dict[int, AccessList]]:
    """The lists in force of the corpus, of the document, and of single pages."""
    corpus, own, pages = AccessList(), AccessList(), {}
    held = AccessAssignment.objects.filter(corpus_id=document.corpus_id, valid_to__isnull=True, document=None)
    for assignment in held | AccessAssignment.objects.filter(document=document, valid_to__isnull=True):
        if assignment.level == Level.CORPUS:
            corpus = assignment.as_list()
        elif assignment.level == Level.DOCUMENT:
            own = assignment.as_list()
        elif assignment.page_number is not None:
            pages[assignment.page_number] = assignment.as_list()
    return corpus, own, pages


def person_of(organisation: Organisation, username: str) -> User | None:
    """The person of the organisation, closed accounts included; one of another organisation is as absent."""
    return User.objects.filter(organisation=organisation, username=username).first()


def chains_of(person: User) -> dict[UUID, Chain]:
    """Every tag that the person carries now, with the way to it; a closed account carries none."""
    own = Principal.objects.filter(user=person).values_list("id", flat=True).first()
    if own is None or not person.is_active or person.organisation_id is None:
        return {}
    return chains_from(own, Membership.objects.groups_of(person.organisation_id, timezone.now()))


def access_explanation(person: User, document: Document, page_number: int | None = None, viewer: User | None = None) -> Explanation:
    """The derivation as it stands now. `viewer` is who reads it; None is the operator at the command line, who sees every name."""
    circumstance = _circumstance(person, document)
    corpus, own, by_page = lists_by_level(document)
    numbers = list(Page.objects.filter(build_id=document.live_build_id).order_by("number").values_list("number", flat=True))
    if page_number is not None:
        numbers = [number for number in numbers if number == page_number]
        circumstance = circumstance or ("" if numbers else "no_such_page")
    alike: dict[AccessList, list[int]] = defaultdict(list)
    for number in numbers:
        alike[by_page.get(number, AccessList())].append(number)
    chains = chains_of(person)
    names = _names(person, document, viewer)
    parts = tuple(_part(found, explain(chains, corpus, own, page), names) for page, found in alike.items())
    visible = not circumstance and any(part.visible for part in parts)
    return Explanation(person.username, document.id, page_number, visible, circumstance, parts)


def _circumstance(person: User, document: Document) -> str:
    if not person.is_active:
        return "person_inactive"
    if document.corpus.deleted_at is not None:
        return "corpus_deleted"
    if document.deleted_at is not None:
        return "document_withdrawn"
    return "not_live" if document.live_build_id is None else ""


def _names(person: User, document: Document, viewer: User | None) -> Mapping[UUID, str]:
    """The names that the viewer may be told."""
    principals = Principal.objects.filter(organisation_id=document.organisation_id)
    names = dict(principals.values_list("id", "name"))
    if viewer is None or is_admin(viewer):
        return names
    held = AccessAssignment.objects.filter(corpus__in=managed_corpora(viewer), valid_to__isnull=True).values_list("allow", "deny")
    managed = {tag for allow, deny in held for tag in (*(allow or ()), *deny)}
    managed |= set(principals.filter(user=person).values_list("id", flat=True))
    return {tag: name for tag, name in names.items() if tag in managed}


def _part(numbers: list[int], derivation: Derivation, names: Mapping[UUID, str]) -> Part:
    return Part(
        pages=tuple(ranges(numbers)),
        count=len(numbers),
        visible=derivation.visible,
        ruling=derivation.ruling.value,
        level=derivation.level.value if derivation.level else "",
        steps=tuple(_step(step, names) for step in derivation.steps),
    )


def _step(step: Step, names: Mapping[UUID, str]) -> StepView:
    return StepView(step.level.value, step.kind, step.met, tuple(names.get(tag, NOT_NAMED) for tag in step.chain))


def ranges(numbers: Iterable[int]) -> list[str]:
    """1, 2, 3, 5 as "1-3", "5"; the numbers come in order."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return [str(first) if first == last else f"{first}-{last}" for first, last in found]


def explanation_record(explanation: Explanation) -> dict:
    """The explanation as one value for programs."""
    return {
        "person": explanation.person,
        "document": str(explanation.document),
        "page": explanation.page_number,
        "visible": explanation.visible,
        "circumstance": explanation.circumstance,
        "parts": [
            {
                "pages": list(part.pages),
                "visible": part.visible,
                "ruling": part.ruling,
                "level": part.level or None,
                "steps": [
                    {"level": s.level, "list": s.kind, "met": s.met, "way": list(s.way)} for s in part.steps
                ],
            }
            for part in explanation.parts
        ],
    }
