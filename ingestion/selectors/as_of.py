"""The door of AUDITORS to a moment of the past: what a named person could see then. A policy of its own, beside `evidence.py`.

An auditor's tags need not cover what he reads here; that he is an auditor of the organisation is asked at every step, and each look is an
entry of the audit chain (`qa/services/questions.py`). What was visible is worked out from intervals: which build was live
(`BuildLiveness`), which lists were in force (`AccessAssignment`), which memberships counted (`Membership`). What was deleted since is no
longer held, whether it has been purged yet or not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connections, transaction
from django.db.models import F, Q, QuerySet
from pgvector import HalfVector

from ingestion.domain.access import AccessClause, AccessList, Tags, combine, may_see
from ingestion.domain.derivation import chains_from
from ingestion.domain.errors import IngestionError
from ingestion.domain.evidence import PageCandidate, PageView, Pin, Scope
from ingestion.domain.pages import Box
from ingestion.domain.questions import named_captions, search_text
from ingestion.domain.ranking import fuse
from ingestion.models import (
    AccessAssignment,
    AuditEntry,
    Build,
    BuildLiveness,
    Corpus,
    Document,
    EmbeddingSpace,
    Membership,
    Page,
    User,
)
from ingestion.seams import load
from ingestion.seams.blobs import BlobMissing
from ingestion.seams.page_embedder import PageEmbedder
from ingestion.selectors.evidence import CROP_LONG_SIDE, crop_limits, lexemes_of, page_view, rows
from ingestion.selectors.search import BM25_TEMPLATE, K1, B, candidates_of, captions_of, signals_of
from ingestion.selectors.visibility import is_auditor

# Not the reader's: the interval tables and pages of classes of the past are nothing that a question of today reads.
ALIAS = "default"
PAGES_TABLE = "(select unnest(%(pages)s::uuid[]))"
BM25_SQL = BM25_TEMPLATE.format(
    visible="",
    size="select greatest(count(*), 1)::float8 as pages, greatest(sum(s.words), 1)::float8 as words "
    f"from ingestion_page s where s.id in {PAGES_TABLE}",
    posting=f"p.page_id in {PAGES_TABLE}",
)
DENSE_SQL = f"""
select v.page_id, max(-(v.vector <#> %(vector)s::halfvec))
  from ingestion_passagevector v
 where v.space_id = %(space)s and v.build_id = any(%(builds)s) and v.page_id in {PAGES_TABLE}
 group by v.page_id order by 2 desc limit %(limit)s
"""
PAGES_SQL = f"""
select p.id, p.document_id, p.number, p.label, p.role, left(t.text, 300)
  from ingestion_page p left join ingestion_pagetext t on t.page_id = p.id
 where p.build_id = any(%(builds)s) and p.id in {PAGES_TABLE}
 order by p.document_id, p.number
"""
TERM_PAGES_SQL = f"""
select p.lexeme, count(distinct p.page_id) from ingestion_posting p
 where p.lexeme = any(%(lexemes)s) and p.field = 'b' and p.build_id = any(%(builds)s) and p.page_id in {PAGES_TABLE}
 group by p.lexeme
"""


class NotAnAuditor(Exception):
    """The person who looks is no auditor of the other's organisation (any more), or the moment is none to look at."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Whose eyes, at which moment, and who looks through them."""

    auditor_id: UUID
    person_id: UUID
    organisation_id: UUID
    at: datetime
    tags: Tags


@dataclass(frozen=True, slots=True)
class Past:
    """What the person could see: the scope, its pages, and documents that were live for him then and are no longer held."""

    scope: Scope
    pages: frozenset[UUID]
    no_longer_held: tuple[UUID, ...]


@contextmanager
def look() -> Iterator[None]:
    """One REPEATABLE READ READ ONLY transaction, never within another."""
    with transaction.atomic(using=ALIAS, durable=True), connections[ALIAS].cursor() as cursor:
        cursor.execute("set transaction isolation level repeatable read, read only")
        yield


def moment_for(auditor: User, person: User, at: datetime) -> Moment:
    """The person's tags as they were. Raises `NotAnAuditor`."""
    organisation = auditor.organisation_id
    if organisation is None or person.organisation_id != organisation or not is_auditor(auditor):
        raise NotAnAuditor
    return Moment(auditor.id, person.id, organisation, at, _tags_then(person, at))


def _tags_then(person: User, at: datetime) -> Tags:
    """None for an account that was closed or not there yet. A closing that left no entry in the chain counts from the beginning."""
    acts = AuditEntry.objects.filter(
        organisation_id=person.organisation_id, subject=str(person.id), act__in=["person.activated", "person.deactivated"]
    )
    last = acts.filter(at__lte=at).order_by("-position").values_list("act", flat=True).first()
    later = acts.filter(at__gt=at).order_by("position").values_list("act", flat=True).first()
    if last is not None:
        active = last == "person.activated"
    else:
        active = later == "person.deactivated" if later is not None else person.is_active
    if not active or person.created_at > at or person.organisation_id is None:
        return frozenset()
    own = person.principal.id
    return frozenset(chains_from(own, Membership.objects.groups_of(person.organisation_id, at)))


def _in_force(at: datetime, begin: str, end: str) -> Q:
    return Q(**{f"{begin}__lte": at}) & (Q(**{f"{end}__isnull": True}) | Q(**{f"{end}__gt": at}))


def _builds_then(moment: Moment) -> QuerySet[Build]:
    """Builds that were live then, of documents and versions that were not deleted since."""
    live = BuildLiveness.objects.using(ALIAS).filter(_in_force(moment.at, "live_from", "live_to"))
    corpora = Q(document__corpus__deleted_at__isnull=True) | Q(document__corpus__deleted_at__gt=moment.at)
    return (
        Build.objects.using(ALIAS)
        .filter(corpora, id__in=live.values("build_id"), document__organisation_id=moment.organisation_id)
        .filter(document__deleted_at__isnull=True, version__revision__gt=F("document__purged_through"))
    )


class _Lists:
    """The lists that were in force then, of the corpora and documents of some builds."""

    def __init__(self, at: datetime, tags: Tags, corpora: Collection[UUID]) -> None:
        held = AccessAssignment.objects.using(ALIAS).filter(_in_force(at, "valid_from", "valid_to"), corpus_id__in=corpora)
        self._held = {(one.corpus_id, one.document_id, one.page_number): one.as_list() for one in held}
        self._tags = tags
        self._known: dict[AccessClause, bool] = {}

    def open_to_him(self, document: Document, number: int | None) -> bool:
        page = self._held.get((document.corpus_id, document.id, number)) if number is not None else None
        corpus = self._held.get((document.corpus_id, None, None), AccessList())
        clause = combine(corpus, self._held.get((document.corpus_id, document.id, None)), page)
        if clause not in self._known:
            self._known[clause] = may_see(self._tags, clause)
        return self._known[clause]


def as_of_visible(moment: Moment, page_ids: Collection[UUID]) -> set[UUID]:
    """Which of the pages stood in a build that was live then, were open to the person then, and are held now."""
    pages = list(
        Page.objects.using(ALIAS)
        .filter(id__in=list(page_ids), build__in=_builds_then(moment))
        .select_related("document")
        .only("id", "number", "document__id", "document__corpus_id")
    )
    lists = _Lists(moment.at, moment.tags, {page.document.corpus_id for page in pages})
    return {page.id for page in pages if lists.open_to_him(page.document, page.number)}


def shut_then(organisation_id: UUID, tags: Tags, at: datetime, documents: Collection[UUID]) -> set[UUID]:
    """Which of the documents the lists of then, of corpus and document, did not open to these tags."""
    held = list(Document.objects.using(ALIAS).filter(id__in=list(documents), organisation_id=organisation_id))
    lists = _Lists(at, tags, {document.corpus_id for document in held})
    return {document.id for document in held if not lists.open_to_him(document, None)}


def as_of_past(moment: Moment, corpus_slug: str, document_id: UUID | None = None) -> Past:
    """What the person could have asked about then; the same nothing for a corpus that was absent and one that was shut to him."""
    with look():
        corpora = Corpus.objects.using(ALIAS).filter(organisation_id=moment.organisation_id, slug=corpus_slug)
        corpus = corpora.filter(created_at__lte=moment.at).first()
        if corpus is None:
            return Past(Scope(None, (), 0, 0), frozenset(), ())
        builds = _builds_then(moment).filter(document__corpus=corpus).select_related("document", "version")
        if document_id is not None:
            builds = builds.filter(document_id=document_id)
        held = {build.id: build for build in builds.order_by("document__external_id")}
        lists = _Lists(moment.at, moment.tags, {corpus.id})
        seen: dict[UUID, list[Page]] = defaultdict(list)
        for page in Page.objects.using(ALIAS).filter(build_id__in=held).only("id", "number", "build_id", "text_source", "blank"):
            if lists.open_to_him(held[page.build_id].document, page.number):
                seen[page.build_id].append(page)
        gone = tuple(_no_longer_held(moment, corpus, document_id, lists))
    pins = tuple(
        Pin(b.document_id, b.version_id, b.id, b.document.external_id, b.document.title, b.version.number)
        for b in held.values()
        if seen[b.id]
    )
    pages = [page for found in seen.values() for page in found]
    unreadable = sum(page.text_source == "none" and not page.blank for page in pages)
    return Past(Scope(None, pins, len(pages), unreadable), frozenset(page.id for page in pages), gone)


def _no_longer_held(moment: Moment, corpus: Corpus, document_id: UUID | None, lists: _Lists) -> list[UUID]:
    """Deleted documents that had a version live at or before the moment, under lists that let the person in."""
    forgotten = Document.objects.using(ALIAS).filter(corpus=corpus, created_at__lte=moment.at)
    forgotten = forgotten.filter(purges__requested_at__gt=moment.at).distinct()
    if document_id is not None:
        forgotten = forgotten.filter(id=document_id)
    found = [document for document in forgotten.order_by("id") if lists.open_to_him(document, None)]
    published = set(
        AuditEntry.objects.using(ALIAS)
        .filter(organisation_id=moment.organisation_id, act="document.version.published", at__lte=moment.at)
        .filter(subject__in=[str(document.id) for document in found])
        .values_list("subject", flat=True)
    )
    return [document.id for document in found if str(document.id) in published]


# --- the steps of a run; `pages` are those of the past that are asked about ---------------------------


def as_of_search(
    past: Past, query: str, embedder: PageEmbedder, limit: int, vector: np.ndarray | None = None
) -> list[PageCandidate]:
    """As `search.evidence_search`, over the pages of the past and their own statistics."""
    if not past.scope.pins or limit <= 0:
        return []
    wanted = search_text(query)
    if vector is None:
        vector = embedder.embed_query(wanted).pooled
    with look():
        base = _base(past) | {"limit": max(len(past.pages), 1)}
        lexical = rows(BM25_SQL, {**base, "lexemes": lexemes_of(past.scope, wanted, ALIAS), "k1": K1, "b": B}, ALIAS)
        space = EmbeddingSpace.objects.using(ALIAS).filter(fingerprint=embedder.space.fingerprint).first()
        dense = rows(DENSE_SQL, {**base, "vector": HalfVector(vector).to_text(), "space": space.id}, ALIAS) if space else []
        pages = rows(PAGES_SQL, base, ALIAS)
        captions = captions_of([row[0] for row in pages], ALIAS) if named_captions(query) else {}
        signals = signals_of(query, pages, lexical, dense, captions, single=len(past.scope.pins) == 1)
        similarity = fuse(signals)
        best = sorted(pages, key=lambda row: (-similarity[row[0]], str(row[1]), row[2]))[:limit]
        return candidates_of(best, similarity, signals, ALIAS)


def _base(past: Past, page_ids: Collection[UUID] | None = None) -> dict[str, Any]:
    pages = past.pages if page_ids is None else past.pages & set(page_ids)
    return {"builds": list(past.scope.build_ids), "pages": sorted(pages)}


def as_of_candidates(past: Past, page_ids: Sequence[UUID], similarity: Mapping[UUID, float]) -> list[PageCandidate]:
    """Schema facts of these pages, with the similarity that a search gave them (0 where it gave none)."""
    with look():
        found = rows(PAGES_SQL, _base(past, page_ids), ALIAS)
        return candidates_of(found, {row[0]: similarity.get(row[0], 0.0) for row in found}, {}, ALIAS)


def as_of_neighbours(past: Past, page_id: UUID, radius: int) -> list[UUID]:
    """Pages of the past of the same build at most `radius` physical pages away, nearest first, without the page itself."""
    with look():
        page = _held(past, [page_id]).first()
        if page is None:
            return []
        near = _held(past).filter(build_id=page.build_id, number__range=(page.number - radius, page.number + radius))
        found = list(near.exclude(id=page_id).values_list("number", "id"))
    return [key for number, key in sorted(found, key=lambda pair: (abs(pair[0] - page.number), pair[0]))]


def _held(past: Past, page_ids: Collection[UUID] | None = None) -> QuerySet[Page]:
    return Page.objects.using(ALIAS).filter(id__in=_base(past, page_ids)["pages"], document__deleted_at__isnull=True)


def as_of_pages(past: Past, page_ids: Sequence[UUID]) -> list[PageView]:
    """The pages for reading, in the order asked; those that are not of the past, or no longer held, are left out."""
    with look():
        pages = _held(past, page_ids).select_related("document", "content", "build").prefetch_related("blocks", "facts")
        found = {page.id: page_view(page) for page in pages}
    return [found[page_id] for page_id in dict.fromkeys(page_ids) if page_id in found]


def as_of_term_pages(past: Past, query: str) -> dict[str, int]:
    """For each lexeme of the query, on how many pages of the past it stands (0 where on none)."""
    with look():
        lexemes = lexemes_of(past.scope, query, ALIAS)
        found = dict(rows(TERM_PAGES_SQL, {**_base(past), "lexemes": lexemes}, ALIAS))
    return {lexeme: int(found.get(lexeme, 0)) for lexeme in lexemes}


def as_of_images(past: Past, page_ids: Sequence[UUID]) -> dict[UUID, bytes]:
    """Pictures (JPEG) of pages of the past that were drawn and are still held."""
    with look():
        keys = dict(_held(past, page_ids).exclude(image_key="").values_list("id", "image_key"))
    pictures = {}
    for page_id, key in keys.items():
        with load("blobs").open(key) as file:
            pictures[page_id] = file.read()
    return pictures


def as_of_crop(past: Past, page_id: UUID, box: Box) -> bytes | None:
    """A part of a page of the past drawn anew from its PDF; None when it cannot be drawn."""
    with look():
        page = _held(past, [page_id]).select_related("build__version__blob").first()
        blob = page.build.version.blob if page else None
    if page is None or blob is None:
        return None
    try:
        with load("blobs").local_path(blob.key) as pdf:
            return load("renderer").crop(pdf, page.number, box, CROP_LONG_SIDE, crop_limits(page.build.page_count or 1))
    except (BlobMissing, IngestionError):
        return None
