"""embed: passages of each page and their vectors, in an embedding space of its own name."""

from __future__ import annotations

import dataclasses

from ingestion.domain.passages import passages_of
from ingestion.models import Page
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
