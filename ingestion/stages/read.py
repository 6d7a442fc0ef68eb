"""read: each page's one canonical text with the places of its words, and its structure; OCR decided page by page."""

from __future__ import annotations

from contextlib import ExitStack

from ingestion.domain.pages import ReadPage
from ingestion.models import Page
from ingestion.stages.contract import StageContext


def run(context: StageContext) -> list[ReadPage]:
    """Read the window, with the drawn pages at hand."""
    keys = Page.objects.filter(
        build_id=context.build_id, number__range=(context.first_page, context.last_page)
    ).exclude(image_key="")
    with ExitStack() as stack:
        images = {
            number: stack.enter_context(context.tools.blobs.local_path(key))
            for number, key in keys.values_list("number", "image_key")
        }
        return context.tools.parser.read(context.pdf, list(context.numbers), images, context.limits, context.password)


def domain_blocks(page: Page) -> tuple:
    """The page's blocks as domain values, in order."""
    from ingestion.domain.pages import Block as DomainBlock
    from ingestion.domain.pages import BlockKind

    return tuple(
        DomainBlock(BlockKind(b.kind), b.start, b.end, tuple(b.box), b.level, b.label)  # type: ignore[arg-type]
        for b in sorted(page.blocks.all(), key=lambda b: b.ordinal)
    )
