"""What putting a list in force would do to whom. Reads only; the rule is `domain/access.py`, as for every question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID, uuid5

from django.db.models import Count
from django.utils import timezone

from ingestion.domain.access import AccessList, Tags, combine
from ingestion.domain.derivation import chains_from
from ingestion.domain.preview import Effect, Portion, digest, effects
from ingestion.models import AccessAssignment, Corpus, Document, Membership, Organisation, Page, Principal

# Where a name is given that nobody has yet: a tag that nobody carries, as the group that would be made for it.
NOBODY = UUID("8e7d5d8e-6d0e-4b52-9f0f-5b1c7b3a0d11")


@dataclass(frozen=True, slots=True)
class PersonEffect:
    username: str
    name: str
    pages_gained: int
    pages_lost: int
    documents_gained: tuple[str, ...]
    documents_lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """What would change, counted over live pages. `digest` is what applying compares; before and after are the level's lists."""

    digest: str
    before: AccessList | None
    after: AccessList
    people: tuple[PersonEffect, ...]

    @property
    def gaining(self) -> tuple[PersonEffect, ...]:
        return tuple(person for person in self.people if person.pages_gained)

    @property
    def losing(self) -> tuple[PersonEffect, ...]:
        return tuple(person for person in self.people if person.pages_lost)

    @property
    def pages_appearing(self) -> int:
        """The most pages that become visible to one person."""
        return max((person.pages_gained for person in self.people), default=0)

    @property
    def pages_vanishing(self) -> int:
        """The most pages that become invisible to one person."""
        return max((person.pages_lost for person in self.people), default=0)


def names_previewed(organisation: Organisation, allow: Iterable[str] | None, deny: Iterable[str]) -> AccessList:
    """The list of these names without making a group for a name that nobody has."""
    allow, deny = None if allow is None else tuple(allow), tuple(deny)
    known = dict(
        Principal.objects.filter(organisation=organisation, name__in=[*(allow or ()), *deny]).values_list("name", "id")
    )

    def tags(names: Iterable[str]) -> Tags:
        return frozenset(known.get(name) or uuid5(NOBODY, name) for name in names)

    return AccessList(None if allow is None else tags(allow), tags(deny))


def access_preview(*, corpus: Corpus, document: Document | None = None, page_number: int | None = None, access: AccessList) -> Preview:
    """The effect of making `access` this level's whole list, under the memberships and live versions of this moment."""
    lists = _Lists.of(corpus)
    documents = _live_pages(corpus, document)
    level = (document.id if document else None, page_number)
    portions = lists.portions(documents, level, access)
    people = _people(corpus.organisation_id)
    found = effects({person: tags for person, (tags, _, _) in people.items()}, portions)
    before = lists.held.get(level)
    clauses = [combine(before or AccessList()), combine(access)]
    target = (corpus.id, *level, before is None, access.allow is None, before is not None and before.allow is None)
    titles = {held.id: held.title or held.external_id for held in documents}
    return Preview(digest(target, clauses, found), before, access, tuple(_named(effect, people, titles) for effect in found))


@dataclass(frozen=True, slots=True)
class _Lists:
    """The lists in force of a corpus, by (document, page number)."""

    held: Mapping[tuple[UUID | None, int | None], AccessList]
    pages: Mapping[UUID, tuple[int, ...]]

    @classmethod
    def of(cls, corpus: Corpus) -> _Lists:
        assignments = list(AccessAssignment.objects.filter(corpus=corpus, valid_to__isnull=True))
        pages: dict[UUID, list[int]] = defaultdict(list)
        for one in assignments:
            if one.page_number is not None:
                pages[one.document_id].append(one.page_number)
        held = {(one.document_id, one.page_number): one.as_list() for one in assignments}
        return cls(held, {key: tuple(sorted(numbers)) for key, numbers in pages.items()})

    def portions(
        self, documents: Mapping[Document, int], level: tuple[UUID | None, int | None], access: AccessList
    ) -> list[Portion]:
        """The pages of the documents for which something would change, by the clauses that they carry before and after."""
        changed = {**self.held, level: access}
        own_page = level[1]
        found: list[Portion] = []
        for document, count in documents.items():
            listed = set(self.pages.get(document.id, ()))
            if level[0] == document.id and own_page is not None:
                listed.add(own_page)
            held = sorted(number for number in listed if number <= count)
            own = [
                Portion(document.id, _clause(self.held, document.id, number), _clause(changed, document.id, number), pages)
                for number, pages in ((None, count - len(held)), *((number, 1) for number in held))
                if pages
            ]
            if any(portion.before != portion.after for portion in own):
                found += own
        return found


def _clause(lists: Mapping[tuple[UUID | None, int | None], AccessList], document: UUID, number: int | None):
    page = lists.get((document, number)) if number is not None else None
    return combine(lists.get((None, None), AccessList()), lists.get((document, None)), page)


def _live_pages(corpus: Corpus, document: Document | None) -> dict[Document, int]:
    """The live documents concerned, each with the number of its pages; pages are numbered from 1 without a gap."""
    if corpus.deleted_at is not None:
        return {}
    documents = Document.objects.filter(corpus=corpus, live_build__isnull=False, deleted_at__isnull=True)
    if document is not None:
        documents = documents.filter(id=document.id)
    held = {one.live_build_id: one for one in documents.only("id", "title", "external_id", "live_build_id").order_by("id")}
    counts = Page.objects.filter(build_id__in=held).values_list("build_id").annotate(pages=Count("id")).order_by()
    return {held[build]: pages for build, pages in counts}


def _people(organisation_id: UUID) -> dict[UUID, tuple[Tags, str, str]]:
    """Every open account of the organisation with the tags that it carries now."""
    groups = Membership.objects.groups_of(organisation_id, timezone.now())
    owns = Principal.objects.filter(organisation_id=organisation_id, kind="user", user__is_active=True)
    owns = owns.filter(user__organisation_id=organisation_id).values_list("id", "user_id", "user__username", "user__name")
    return {user: (frozenset(chains_from(own, groups)), username, name) for own, user, username, name in owns}


def _named(effect: Effect, people: Mapping[UUID, tuple[Tags, str, str]], titles: Mapping[UUID, str]) -> PersonEffect:
    _, username, name = people[effect.person]
    return PersonEffect(
        username, name, effect.pages_gained, effect.pages_lost,
        tuple(sorted(titles[one] for one in effect.documents_gained)), tuple(sorted(titles[one] for one in effect.documents_lost)),
    )  # fmt: skip


def preview_record(preview: Preview) -> dict:
    """The preview as one value for programs."""
    return {
        "digest": preview.digest,
        "people": [
            {
                "person": person.username, "pages_gained": person.pages_gained, "pages_lost": person.pages_lost,
                "documents_gained": list(person.documents_gained), "documents_lost": list(person.documents_lost),
            }
            for person in preview.people
        ],
    }  # fmt: skip
