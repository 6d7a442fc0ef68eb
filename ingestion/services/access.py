"""Access lists put in force, and their combinations interned onto pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from ingestion.domain.access import AccessClause, AccessList, combine
from ingestion.models import (
    AccessAssignment,
    AccessClass,
    Build,
    BuildAccessCount,
    Corpus,
    Document,
    MultiVector,
    Organisation,
    Page,
    Passage,
    PassageVector,
    PooledVector,
    Posting,
)
from ingestion.services.people import group_ensure


def tags_named(organisation: Organisation, names: Iterable[str]) -> frozenset[UUID]:
    """The tags of these principal names; an unknown name becomes an empty group, which lets nobody in."""
    return frozenset(group_ensure(organisation=organisation, name=name).id for name in names)


def assignment_put(
    *, corpus: Corpus, document: Document | None, page_number: int | None, access: AccessList | None
) -> bool:
    """Make this the level's list from now on (None takes the list away); returns whether anything changed."""
    now = timezone.now()
    current = AccessAssignment.objects.filter(
        corpus=corpus, document=document, page_number=page_number, valid_to__isnull=True
    ).first()
    if _as_list(current) == access:
        return False
    if current is not None:
        current.valid_to = now
        current.save(update_fields=["valid_to"])
    if access is not None:
        AccessAssignment.objects.create(
            level="page" if page_number else "document" if document else "corpus",
            corpus=corpus,
            document=document,
            page_number=page_number,
            allow=None if access.allow is None else sorted(access.allow),
            deny=sorted(access.deny),
            valid_from=now,
        )
    return True


def _as_list(assignment: AccessAssignment | None) -> AccessList | None:
    if assignment is None:
        return None
    return assignment.as_list()


def lists_in_force(document: Document) -> tuple[AccessList, AccessList, dict[int, AccessList]]:
    """The lists of the corpus, of the document, and of single pages by number."""
    corpus, own, pages = AccessList(), AccessList(), {}
    for assignment in AccessAssignment.objects.filter(corpus_id=document.corpus_id, valid_to__isnull=True).filter(
        document__isnull=True
    ) | AccessAssignment.objects.filter(document=document, valid_to__isnull=True):
        access = _as_list(assignment)
        assert access is not None
        if assignment.level == "corpus":
            corpus = access
        elif assignment.level == "document":
            own = access
        else:
            pages[assignment.page_number] = access
    return corpus, own, pages


def class_intern(organisation_id: UUID, clause: AccessClause) -> AccessClass:
    """The one row for this combination."""
    found, _ = AccessClass.objects.get_or_create(
        organisation_id=organisation_id,
        digest=clause.digest(),
        defaults={
            "corpus_allow": sorted(clause.corpus_allow),
            "document_allow": None if clause.document_allow is None else sorted(clause.document_allow),
            "page_allow": None if clause.page_allow is None else sorted(clause.page_allow),
            "deny": sorted(clause.deny),
        },
    )
    return found


def classes_for(document: Document, numbers: Iterable[int]) -> dict[int, AccessClass]:
    """The access class of each page number under the lists in force now. The caller holds the document's row lock."""
    corpus, own, pages = lists_in_force(document)
    common = class_intern(document.organisation_id, combine(corpus, own))
    return {
        number: class_intern(document.organisation_id, combine(corpus, own, pages[number])) if number in pages else common
        for number in numbers
    }


@transaction.atomic
def build_classes_apply(build: Build) -> int:
    """Bring the access classes of a build's rows to the lists in force; returns how many pages changed."""
    document = Document.objects.select_for_update().get(id=build.document_id)
    pages = list(Page.objects.filter(build=build).only("id", "number", "access_class_id"))
    wanted = classes_for(document, [page.number for page in pages])
    changed: dict[UUID, list[UUID]] = defaultdict(list)
    for page in pages:
        if page.access_class_id != wanted[page.number].id:
            changed[wanted[page.number].id].append(page.id)
    for class_id, page_ids in changed.items():
        Page.objects.filter(id__in=page_ids).update(access_class_id=class_id)
        for model in (Passage, PassageVector, PooledVector, MultiVector, Posting):
            model.objects.filter(page_id__in=page_ids).update(access_class_id=class_id)
    if changed:
        counts_write(build)
    return sum(len(ids) for ids in changed.values())


def counts_write(build: Build) -> None:
    """Pages and words of the build by access class, anew."""
    BuildAccessCount.objects.filter(build=build).delete()
    totals: dict[UUID, list[int]] = defaultdict(lambda: [0, 0])
    for class_id, words in Page.objects.filter(build=build, access_class__isnull=False).values_list("access_class_id", "words"):
        totals[class_id][0] += 1
        totals[class_id][1] += words
    BuildAccessCount.objects.bulk_create(
        BuildAccessCount(build=build, access_class_id=class_id, pages=pages, words=words)
        for class_id, (pages, words) in totals.items()
    )


def document_classes_apply(document: Document) -> int:
    """`build_classes_apply` for every build of the document that may be read or is being made."""
    builds = Build.objects.filter(document=document, state__in=["building", "live", "superseded"])
    return sum(build_classes_apply(build) for build in builds)
