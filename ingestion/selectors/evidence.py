"""THE ONE DOOR through which questions see pages. The asker is a required argument of everything here.

Every read runs on the `evidence` alias (a role that can write nothing, REPEATABLE READ READ ONLY), and every query carries the filter:
the asker's organisation, the builds that are live (or pinned by the run), the access classes that his tags open NOW. Beneath it
stands row-level security (migration 0040): a query that forgot the filter would still see nothing that the asker may not see.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import connections, transaction

from ingestion.domain.errors import IngestionError
from ingestion.domain.evidence import Asker, PageView, Pin, Scope
from ingestion.domain.pages import Block, BlockKind, Box, TextSource
from ingestion.models import DocumentPassword, Page
from ingestion.seams import load
from ingestion.seams.blobs import BlobMissing
from ingestion.seams.renderer import Limits
from ingestion.selectors.visibility import VISIBLE_CLASSES_SQL, access_parameters, visible_classes

ALIAS = "evidence"
CROP_LONG_SIDE = 1500  # pixels; the method's bound for pictures that a reader sees
CROP_SECONDS = 60
CROP_MEMORY = 2 * 1024**3

SCOPE_SQL = f"""
with visible as ({VISIBLE_CLASSES_SQL})
select d.id, d.live_version_id, d.live_build_id, d.external_id, d.title, v.number, sum(n.pages),
       coalesce((select e.epoch from ingestion_corpusepoch e where e.corpus_id = d.corpus_id), 0)
  from ingestion_document d
  join ingestion_corpus c on c.id = d.corpus_id and c.deleted_at is null
  join ingestion_documentversion v on v.id = d.live_version_id
  join ingestion_buildaccesscount n on n.build_id = d.live_build_id and n.access_class_id in (select id from visible)
 where d.organisation_id = %(organisation)s and c.organisation_id = %(organisation)s and c.slug = %(corpus)s
   and d.deleted_at is null and (%(document)s::uuid is null or d.id = %(document)s::uuid)
 group by d.id, v.number
 order by d.external_id
"""

UNREADABLE_SQL = f"""
with visible as ({VISIBLE_CLASSES_SQL})
select count(*) from ingestion_page p
 where p.build_id = any(%(builds)s) and p.access_class_id in (select id from visible)
   and p.text_source = 'none' and not p.blank
"""

CORPORA_SQL = f"""
with visible as ({VISIBLE_CLASSES_SQL})
select c.slug, c.name from ingestion_corpus c
 where c.organisation_id = %(organisation)s and c.deleted_at is null
   and exists (select 1 from ingestion_document d
                 join ingestion_buildaccesscount n on n.build_id = d.live_build_id
                where d.corpus_id = c.id and d.deleted_at is null and n.access_class_id in (select id from visible))
 order by c.slug
"""

TERM_PAGES_SQL = f"""
with visible as ({VISIBLE_CLASSES_SQL})
select p.lexeme, count(distinct p.page_id) from ingestion_posting p
 where p.lexeme = any(%(lexemes)s) and p.field = 'b' and p.build_id = any(%(builds)s)
   and p.access_class_id in (select id from visible)
 group by p.lexeme
"""


CLAIM_SQL = "select set_config('docmemo.organisation', %s, true), set_config('docmemo.tags', %s, true)"


@contextmanager
def snapshot(asker: Asker) -> Iterator[None]:
    """One REPEATABLE READ READ ONLY transaction: all reads of a step see the same state.

    The database's own filter (row-level security) takes the asker's organisation and tags from this transaction, and they end with
    it. A snapshot within another is refused: it would leave its tags to the outer one.
    """
    with transaction.atomic(using=ALIAS, durable=True), connections[ALIAS].cursor() as cursor:
        cursor.execute(CLAIM_SQL, [str(asker.organisation_id), ",".join(sorted(str(tag) for tag in asker.tags))])
        yield


def rows(sql: str, parameters: Mapping[str, Any], using: str = ALIAS) -> list[tuple]:
    """The rows of a query on the evidence alias."""
    with connections[using].cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


def evidence_scope(asker: Asker, corpus_slug: str, document_id: UUID | None = None) -> Scope:
    """The live builds of the corpus (or of one document) that hold a page the asker may see; the same empty scope for
    a corpus that is absent, forbidden or empty."""
    with snapshot(asker):
        parameters = {**access_parameters(asker), "corpus": corpus_slug, "document": document_id}
        found = rows(SCOPE_SQL, parameters)
        pins = tuple(Pin(*row[:6]) for row in found)
        builds = [pin.build_id for pin in pins]
        unreadable = rows(UNREADABLE_SQL, {**access_parameters(asker), "builds": builds})[0][0]
    return Scope(None, pins, sum(int(row[6]) for row in found), unreadable, int(found[0][7]) if found else 0)


def readable_corpora(asker: Asker) -> list[tuple[str, str]]:
    """(slug, name) of each corpus in which the asker sees at least one page."""
    with snapshot(asker):
        return [(slug, name) for slug, name in rows(CORPORA_SQL, access_parameters(asker))]


def readable_documents(asker: Asker, corpus_slug: str) -> list[tuple[UUID, str, str]]:
    """(id, title, external id) of each document of the corpus in which the asker sees at least one page."""
    return [(pin.document_id, pin.title, pin.external_id) for pin in evidence_scope(asker, corpus_slug).pins]


def evidence_term_pages(asker: Asker, scope: Scope, query: str) -> dict[str, int]:
    """For each lexeme of the query, on how many visible pages of the scope it stands (0 where on none)."""
    with snapshot(asker):
        lexemes = lexemes_of(scope, query)
        parameters = {**access_parameters(asker), "builds": list(scope.build_ids), "lexemes": lexemes}
        found = dict(rows(TERM_PAGES_SQL, parameters))
    return {lexeme: int(found.get(lexeme, 0)) for lexeme in lexemes}


def lexemes_of(scope: Scope, query: str, using: str = ALIAS) -> list[str]:
    """The query's lexemes under the text search configurations of the scope's builds; call within a snapshot."""
    sql = """
    select distinct w.lexeme
      from (select distinct b.language from ingestion_build b where b.id = any(%(builds)s) and b.language <> '') l,
           lateral unnest(to_tsvector(l.language::regconfig, %(query)s)) w
    """
    return sorted(row[0] for row in rows(sql, {"builds": list(scope.build_ids), "query": query}, using))


def evidence_pages(asker: Asker, scope: Scope, page_ids: Sequence[UUID]) -> list[PageView]:
    """The pages, in the order asked; those that are not visible now, or of no build of the scope, are left out."""
    with snapshot(asker):
        return _page_views(asker, page_ids, Page.objects.using(ALIAS).filter(build_id__in=scope.build_ids))


def evidence_page(asker: Asker, page_id: UUID) -> PageView | None:
    """A page of a live build, or None: absent, superseded and forbidden are the same."""
    with snapshot(asker):
        views = _page_views(asker, [page_id], _live_pages())
    return views[0] if views else None


def _live_pages():
    from django.db.models import F

    return Page.objects.using(ALIAS).filter(
        document__live_build_id=F("build_id"), document__deleted_at__isnull=True, document__corpus__deleted_at__isnull=True
    )


def _page_views(asker: Asker, page_ids: Sequence[UUID], pages) -> list[PageView]:
    visible = pages.filter(
        id__in=list(page_ids),
        access_class_id__in=visible_classes(asker, ALIAS),
        document__organisation_id=asker.organisation_id,
    )
    found = {
        page.id: page
        for page in visible.select_related("document", "content", "build").prefetch_related("blocks", "facts")
    }
    return [page_view(found[page_id]) for page_id in dict.fromkeys(page_ids) if page_id in found]


def page_view(page: Page) -> PageView:
    """The page for reading; the caller has checked that it may be read."""
    section = next((fact.value["path"] for fact in page.facts.all() if fact.kind == "section"), [])
    return PageView(
        page_id=page.id,
        document_id=page.document_id,
        version_id=page.build.version_id,
        build_id=page.build_id,
        document_title=page.document.title,
        external_id=page.document.external_id,
        number=page.number,
        label=page.label,
        text=page.content.text,
        words=page.content.located_words(),
        blocks=tuple(
            Block(BlockKind(b.kind), b.start, b.end, tuple(b.box), b.level, b.label)  # type: ignore[arg-type]
            for b in sorted(page.blocks.all(), key=lambda b: b.ordinal)
        ),
        source=TextSource(page.text_source),
        role=page.role,
        section=" > ".join(section),
    )


def page_visible(asker: Asker, page_ids: Iterable[UUID]) -> set[UUID]:
    """Which of the pages stand in a live build and are visible now."""
    with snapshot(asker):
        return set(
            _live_pages()
            .filter(
                id__in=list(page_ids),
                access_class_id__in=visible_classes(asker, ALIAS),
                document__organisation_id=asker.organisation_id,
            )
            .values_list("id", flat=True)
        )


def evidence_image(asker: Asker, page_id: UUID) -> bytes | None:
    """The picture of a page of a live build (JPEG), or None: absent, superseded, forbidden and undrawn are the same."""
    with snapshot(asker):
        key = (
            _live_pages()
            .filter(
                id=page_id, access_class_id__in=visible_classes(asker, ALIAS), document__organisation_id=asker.organisation_id
            )
            .exclude(image_key="")
            .values_list("image_key", flat=True)
            .first()
        )
    if key is None:
        return None
    try:
        with load("blobs").open(key) as file:
            return file.read()
    except BlobMissing:
        return None


def evidence_images(asker: Asker, scope: Scope, page_ids: Sequence[UUID]) -> dict[UUID, bytes]:
    """Pictures of the scope's pages that are visible now and were drawn."""
    with snapshot(asker):
        keys = (
            Page.objects.using(ALIAS)
            .filter(
                id__in=list(page_ids), build_id__in=scope.build_ids, access_class_id__in=visible_classes(asker, ALIAS),
                document__organisation_id=asker.organisation_id,
            )  # fmt: skip
            .exclude(image_key="")
            .values_list("id", "image_key")
        )
        found = dict(keys)
    blobs = load("blobs")
    pictures = {}
    for page_id, key in found.items():
        with blobs.open(key) as file:
            pictures[page_id] = file.read()
    return pictures


def crop_limits(pages: int) -> Limits:
    """What drawing a part of a page may take."""
    return Limits(memory_bytes=CROP_MEMORY, seconds=CROP_SECONDS, max_pages=pages)


def evidence_crop(asker: Asker, scope: Scope, page_id: UUID, box: Box) -> bytes | None:
    """A part of a page drawn anew from its PDF, if the page is of the scope and visible now; None when it cannot be drawn."""
    with snapshot(asker):
        page = (
            Page.objects.using(ALIAS)
            .filter(
                id=page_id, build_id__in=scope.build_ids, access_class_id__in=visible_classes(asker, ALIAS),
                document__organisation_id=asker.organisation_id,
            )  # fmt: skip
            .select_related("build__version__blob")
            .first()
        )
        blob = page.build.version.blob if page else None
    if page is None or blob is None:
        return None
    limits = crop_limits(page.build.page_count or 1)
    try:
        with load("blobs").local_path(blob.key) as pdf:
            # passwords are not for the reader role: this one row comes by the writer's connection
            password = DocumentPassword.objects.opened(blob, load("seal"))
            return load("renderer").crop(pdf, page.number, box, CROP_LONG_SIDE, limits, password)
    except (BlobMissing, IngestionError):
        return None
