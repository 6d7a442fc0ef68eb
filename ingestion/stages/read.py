"""read: each page's one canonical text with the places of its words, and its structure; OCR decided page by page."""

from __future__ import annotations

from contextlib import ExitStack

from ingestion.domain.pages import ReadPage
from ingestion.models import Block, Page, PageText, StageRun
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
        return context.tools.parser.read(context.pdf, list(context.numbers), images, context.limits)


def store(run_row: StageRun, result: list[ReadPage]) -> None:
    pages = {p.number: p for p in Page.objects.filter(build_id=run_row.job.build_id, number__in=[r.number for r in result])}
    PageText.objects.filter(page__in=pages.values()).delete()
    Block.objects.filter(page__in=pages.values()).delete()
    texts, blocks = [], []
    for read in result:
        page = pages[read.number]
        page.text_source, page.words = read.source.value, len(read.words)
        page.warnings = [*page.warnings, *(w for w in read.warnings if w not in page.warnings)]
        rows = [[w.start, w.end, w.line, *(round(side, 5) for side in w.box)] for w in read.words]
        texts.append(PageText(page=page, text=read.text, word_boxes=rows))
        blocks.extend(
            Block(
                page=page, ordinal=ordinal, kind=block.kind.value, level=block.level, label=block.label[:64],
                start=block.start, end=block.end, box=[round(side, 5) for side in block.box],
            )  # fmt: skip
            for ordinal, block in enumerate(read.blocks)
        )
    PageText.objects.bulk_create(texts)
    Block.objects.bulk_create(blocks, batch_size=2000)
    Page.objects.bulk_update(pages.values(), ["text_source", "words", "warnings"])


def domain_blocks(page: Page) -> tuple:
    """The page's blocks as domain values, in order."""
    from ingestion.domain.pages import Block as DomainBlock
    from ingestion.domain.pages import BlockKind

    return tuple(
        DomainBlock(BlockKind(b.kind), b.start, b.end, tuple(b.box), b.level, b.label)  # type: ignore[arg-type]
        for b in sorted(page.blocks.all(), key=lambda b: b.ordinal)
    )
