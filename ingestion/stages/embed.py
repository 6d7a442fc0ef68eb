"""embed: passages of each page and their vectors, in an embedding space of its own name."""

from __future__ import annotations

import dataclasses

import numpy as np
from pgvector import HalfVector

from ingestion.domain.passages import passages_of
from ingestion.models import EmbeddingSpace, MultiVector, Page, Passage, PassageVector, PooledVector, StageRun
from ingestion.seams.page_embedder import PageEmbedding, PageInput, Space
from ingestion.stages.contract import StageContext
from ingestion.stages.read import domain_blocks


@dataclasses.dataclass(frozen=True, slots=True)
class EmbeddedPage:
    embedding: PageEmbedding
    ranges: tuple[tuple[int, int], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Embedded:
    space: Space
    pages: tuple[EmbeddedPage, ...]


def run(context: StageContext) -> Embedded:
    """Cut the window's texts into passages and embed them."""
    embedder = context.tools.embedder
    pages = (
        Page.objects.filter(build_id=context.build_id, number__range=(context.first_page, context.last_page))
        .select_related("content")
        .prefetch_related("blocks")
        .order_by("number")
    )
    inputs, ranges = [], []
    for page in pages:
        text = page.content.text
        cut = passages_of(text, domain_blocks(page), embedder.passage_words)
        ranges.append(tuple(cut))
        inputs.append(PageInput(page.number, tuple(text[start:end] for start, end in cut)))
    embedded = embedder.embed_pages(inputs)
    return Embedded(embedder.space, tuple(EmbeddedPage(e, r) for e, r in zip(embedded, ranges, strict=True)))


def store(run_row: StageRun, result: Embedded) -> None:
    space, _ = EmbeddingSpace.objects.get_or_create(
        name=result.space.name, fingerprint=result.space.fingerprint, defaults={"dimensions": result.space.dimensions}
    )
    build_id = run_row.job.build_id
    numbers = [page.embedding.number for page in result.pages]
    pages = {page.number: page for page in Page.objects.filter(build_id=build_id, number__in=numbers)}
    for model in (Passage, PooledVector, MultiVector):
        model.objects.filter(page__in=pages.values()).delete()
    passages, vectors, pooled, multi = [], [], [], []
    for embedded in result.pages:
        page, embedding = pages[embedded.embedding.number], embedded.embedding
        shared = {"page": page, "build_id": build_id, "access_class_id": page.access_class_id}
        for ordinal, (start, end) in enumerate(embedded.ranges):
            passage = Passage(ordinal=ordinal, start=start, end=end, **shared)
            passages.append(passage)
            if embedding.passages is not None:
                vectors.append(PassageVector(space=space, passage=passage, vector=HalfVector(embedding.passages[ordinal]), **shared))
        if embedding.pooled is not None:
            pooled.append(PooledVector(space=space, vector=HalfVector(embedding.pooled), **shared))
        if embedding.multi is not None:
            data = np.ascontiguousarray(embedding.multi, dtype=np.float16).tobytes()
            multi.append(MultiVector(space=space, tokens=len(embedding.multi), data=data, **shared))
    Passage.objects.bulk_create(passages, batch_size=2000)
    PassageVector.objects.bulk_create(vectors, batch_size=1000)
    PooledVector.objects.bulk_create(pooled, batch_size=1000)
    MultiVector.objects.bulk_create(multi, batch_size=100)
