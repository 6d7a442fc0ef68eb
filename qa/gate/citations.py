"""Whether each citation stands: the page was shown in this run, belongs to a pinned build, and holds the quote at that very place."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from ingestion.domain.anchors import boxes_of_range, quote_stands_at
from ingestion.domain.evidence import PageView
from ingestion.domain.pages import Box
from qa.gate.checks import Check
from qa.memory.trail import DraftCitation


@dataclass(frozen=True, slots=True)
class Anchor:
    """A verified place: `quote` is the range `start:end` of the page's canonical text; one box a line, fractions of the displayed page."""

    page_id: UUID
    start: int
    end: int
    quote: str
    boxes: tuple[Box, ...]


def verify(
    citation: DraftCitation, pages: Mapping[UUID, PageView], shown: Collection[UUID], builds: Collection[UUID]
) -> tuple[Anchor | None, Check]:
    """The anchor, or None with what is wrong. `pages` were fetched again after the reading, through the asker's own door."""
    page = pages.get(citation.page_id)
    if citation.page_id not in shown:
        return None, _failed(citation, "page_not_shown")
    if page is None:
        return None, _failed(citation, "page_not_readable_now")
    if page.build_id not in builds:
        return None, _failed(citation, "build_not_pinned")
    if not quote_stands_at(page.text, citation.start, citation.end, citation.quote):
        return None, _failed(citation, "quote_not_there")
    boxes = boxes_of_range(page.words, citation.start, citation.end)
    if page.words and not boxes:
        return None, _failed(citation, "no_place_on_page")
    anchor = Anchor(citation.page_id, citation.start, citation.end, citation.quote, boxes)
    return anchor, Check("citation", True, _place(citation))


def _failed(citation: DraftCitation, why: str) -> Check:
    return Check("citation", False, f"{why} {_place(citation)}")


def _place(citation: DraftCitation) -> str:
    return f"page={citation.page_id} range={citation.start}:{citation.end}"
