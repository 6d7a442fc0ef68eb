"""Searching the visible pages of a scope: BM25 over postings, headings, vectors, named places; exact, never approximate.

Word statistics (document frequency, page count, average length) come from the asker's visible pages only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

import numpy as np
from pgvector import HalfVector

from ingestion.domain.evidence import Asker, PageCandidate, Scope
from ingestion.domain.questions import caption_label, named_captions, named_pages, search_text
from ingestion.domain.ranking import fuse
from ingestion.models import EmbeddingSpace, SchemaFact
from ingestion.seams.page_embedder import PageEmbedder
from ingestion.selectors.evidence import ALIAS, lexemes_of, rows, snapshot
from ingestion.selectors.visibility import VISIBLE_CLASSES_SQL, access_parameters

# Up to this many visible pages the whole scope is ranked; above it, the best of each signal are.
WHOLE_SCOPE_PAGES = 3000
BEST_OF_EACH = 400

# {visible}: what comes before; {size}: pages and words of what is visible; {posting}: whether a posting is.
BM25_TEMPLATE = """
with {visible}
size as ({size}),
hits as materialized (
    select p.page_id, p.field, p.lexeme, p.frequency from ingestion_posting p
     where p.lexeme = any(%(lexemes)s) and p.build_id = any(%(builds)s) and {posting}
),
rare as (
    select h.field, h.lexeme, ln(1 + (size.pages - count(*) + 0.5) / (count(*) + 0.5)) as idf
      from hits h, size group by h.field, h.lexeme, size.pages
)
select h.page_id,
       coalesce(sum(r.idf * h.frequency * (%(k1)s + 1)
           / (h.frequency + %(k1)s * (1 - %(b)s + %(b)s * pg.words / (size.words / size.pages)))) filter (where h.field = 'b'), 0),
       coalesce(sum(r.idf) filter (where h.field = 'h'), 0)
  from hits h join rare r on r.field = h.field and r.lexeme = h.lexeme
  join ingestion_page pg on pg.id = h.page_id, size
 group by h.page_id
 order by 2 desc
 limit %(limit)s
"""
BM25_SQL = BM25_TEMPLATE.format(
    visible=f"visible as ({VISIBLE_CLASSES_SQL}),",
    size="select greatest(sum(n.pages), 1)::float8 as pages, greatest(sum(n.words), 1)::float8 as words "
    "from ingestion_buildaccesscount n where n.build_id = any(%(builds)s) and n.access_class_id in (select id from visible)",
    posting="p.access_class_id in (select id from visible)",
)

DENSE_SQL = f"""
with visible as ({VISIBLE_CLASSES_SQL})
select v.page_id, max(-(v.vector <#> %(vector)s::halfvec))
  from ingestion_passagevector v
 where v.space_id = %(space)s and v.build_id = any(%(builds)s) and v.access_class_id in (select id from visible)
 group by v.page_id
 order by 2 desc
 limit %(limit)s
"""

PAGES_SQL = f"""
with visible as ({VISIBLE_CLASSES_SQL})
select p.id, p.document_id, p.number, p.label, p.role, left(t.text, 300)
  from ingestion_page p left join ingestion_pagetext t on t.page_id = p.id
 where p.build_id = any(%(builds)s) and p.access_class_id in (select id from visible)
   and (%(ids)s::uuid[] is null or p.id = any(%(ids)s::uuid[]))
 order by p.document_id, p.number
"""

K1, B = 3.0, 0.9


def evidence_search(
    asker: Asker, scope: Scope, query: str, embedder: PageEmbedder, limit: int, vector: np.ndarray | None = None
) -> list[PageCandidate]:
    """Visible pages of the scope, best first. `vector` is the query's own, computed before if the caller has it.

    Similarities are normalised over everything that was ranked, so they compare within one search only.
    """
    if not scope.pins or limit <= 0:
        return []
    wanted = search_text(query)
    if vector is None:
        vector = embedder.embed_query(wanted).pooled
    whole = scope.visible_pages <= WHOLE_SCOPE_PAGES
    with snapshot(asker):
        base = {
            **access_parameters(asker),
            "builds": list(scope.build_ids),
            "limit": scope.visible_pages if whole else BEST_OF_EACH,
        }
        lexical = rows(BM25_SQL, {**base, "lexemes": lexemes_of(scope, wanted), "k1": K1, "b": B})
        space = EmbeddingSpace.objects.using(ALIAS).filter(fingerprint=embedder.space.fingerprint).first()
        dense = rows(DENSE_SQL, {**base, "vector": HalfVector(vector).to_text(), "space": space.id}) if space else []
        ids = None if whole else list({row[0] for row in (*lexical, *dense)})
        pages = rows(PAGES_SQL, {**base, "ids": ids})
        captions = captions_of([row[0] for row in pages]) if named_captions(query) else {}
        signals = signals_of(query, pages, lexical, dense, captions, single=len(scope.pins) == 1)
        similarity = fuse(signals)
        best = sorted(pages, key=lambda row: (-similarity[row[0]], str(row[1]), row[2]))[:limit]
        return candidates_of(best, similarity, signals)


def evidence_candidates(
    asker: Asker, scope: Scope, page_ids: Sequence[UUID], similarity: Mapping[UUID, float]
) -> list[PageCandidate]:
    """Schema facts of these pages, with the similarity that a search gave them (0 where it gave none)."""
    with snapshot(asker):
        found = rows(PAGES_SQL, {**access_parameters(asker), "builds": list(scope.build_ids), "ids": list(page_ids)})
        return candidates_of(found, {row[0]: similarity.get(row[0], 0.0) for row in found}, {})


def evidence_neighbours(asker: Asker, scope: Scope, page_id: UUID, radius: int) -> list[UUID]:
    """Visible pages of the same build at most `radius` physical pages away, nearest first, without the page itself."""
    sql = f"""
    with visible as ({VISIBLE_CLASSES_SQL})
    select n.id from ingestion_page p join ingestion_page n on n.build_id = p.build_id and n.id <> p.id
     where p.id = %(page)s and p.build_id = any(%(builds)s) and p.access_class_id in (select id from visible)
       and n.access_class_id in (select id from visible) and abs(n.number - p.number) <= %(radius)s
     order by abs(n.number - p.number), n.number
    """
    with snapshot(asker):
        parameters = {**access_parameters(asker), "builds": list(scope.build_ids), "page": page_id, "radius": radius}
        return [row[0] for row in rows(sql, parameters)]


def captions_of(page_ids: Sequence[UUID], using: str = ALIAS) -> dict[UUID, set[str]]:
    """The labels of the captions on these pages, which the caller has checked."""
    facts = SchemaFact.objects.using(using).filter(page_id__in=page_ids, kind="caption").values_list("page_id", "value")
    found: dict[UUID, set[str]] = {}
    for page_id, value in facts:
        found.setdefault(page_id, set()).add(caption_label(value.get("label", "")))
    return found


def signals_of(
    query: str,
    pages: Sequence[tuple],
    lexical: Sequence[tuple],
    dense: Sequence[tuple],
    captions: Mapping[UUID, set[str]],
    single: bool,
) -> dict[UUID, dict[str, float]]:
    """The parts of each page's similarity, before normalisation. Page numbers mean something within one document only."""
    signals: dict[UUID, dict[str, float]] = {row[0]: {} for row in pages}
    for page_id, body, heading in lexical:
        if page_id in signals:
            signals[page_id].update(lexical=float(body), heading=float(heading))
    for page_id, cosine in dense:
        if page_id in signals:
            signals[page_id]["dense"] = float(cosine)
    numbers, labels = named_pages(query), named_captions(query)
    for page_id, _, number, label, *_rest in pages:
        if single and (str(number) in numbers or label.lower() in numbers):
            signals[page_id]["named_page"] = 1.0
        if labels & captions.get(page_id, set()):
            signals[page_id]["named_caption"] = 1.0
        if single and number == 1:
            signals[page_id]["first_page"] = 1.0
    return signals


def candidates_of(
    pages: Sequence[tuple], similarity: Mapping[UUID, float], signals: Mapping[UUID, Mapping[str, float]], using: str = ALIAS
) -> list[PageCandidate]:
    """Candidates of rows of `PAGES_SQL`, with the schema facts of their pages."""
    ids = [row[0] for row in pages]
    facts: dict[UUID, dict[str, list]] = {}
    for page_id, kind, value in (
        SchemaFact.objects.using(using).filter(page_id__in=ids).values_list("page_id", "kind", "value")
    ):
        facts.setdefault(page_id, {}).setdefault(kind, []).append(value)
    candidates = []
    for page_id, document_id, number, label, role, gist in pages:
        own = facts.get(page_id, {})
        candidates.append(
            PageCandidate(
                page_id=page_id,
                document_id=document_id,
                number=number,
                label=label,
                similarity=similarity.get(page_id, 0.0),
                signals=dict(signals.get(page_id, {})),
                role=role,
                section=" > ".join(own["section"][0]["path"]) if "section" in own else "",
                prior=float(own["prior"][0]["value"]) if "prior" in own else 0.5,
                captions=tuple(value.get("label", "") for value in own.get("caption", [])),
                gist=" ".join((gist or "").split()),
            )
        )
    return candidates
