"""describe: the document's type and language, and what the schema memory holds of each page."""

from __future__ import annotations

import dataclasses

from ingestion.domain.language import detect_language
from ingestion.domain.pages import OutlineEntry
from ingestion.domain.structure import PageFacts, PageOutline, describe_pages, document_type
from ingestion.models import Build, Page
from ingestion.stages.contract import StageContext
from ingestion.stages.read import domain_blocks


@dataclasses.dataclass(frozen=True, slots=True)
class Described:
    language: str
    document_type: str
    pages: tuple[PageFacts, ...]


def run(context: StageContext) -> Described:
    """Describe the document from its outline, headings and texts."""
    build = Build.objects.get(id=context.build_id)
    rows = Page.objects.filter(build=build).select_related("content").prefetch_related("blocks").order_by("number")
    pages = [
        PageOutline(page.number, page.label, page.content.text, domain_blocks(page), page.blank)
        for page in rows.iterator(chunk_size=200)
    ]
    outline = [OutlineEntry(title, level, number) for title, level, number in build.inspection.get("outline", [])]
    sample = "\n".join(page.text for page in pages[:50])
    return Described(
        language=context.language or detect_language(sample),
        document_type=document_type(page.text for page in pages[:5]),
        pages=tuple(describe_pages(pages, outline)),
    )
