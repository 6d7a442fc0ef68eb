"""Which parts of pages deserve a closer look: tables and figures of the pages in hand, a few a question, beside the pages themselves.

Choosing is pure and stands here; drawing is a port. Only readers that look at pictures get crops.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from ingestion.domain.evidence import PageView
from ingestion.domain.pages import Block, BlockKind, Box
from ingestion.domain.questions import caption_label, named_captions

DrawCrop = Callable[[UUID, Box], bytes | None]

_NUMERIC = re.compile(
    r"\b(how (many|much)|what (percentage|share|proportion)|percent\w*|total|sum|average|mean|ratio|rate|highest|lowest|largest|smallest|"
    r"most|least|difference|compare\w*|table|figure|chart|graph|row|column|bar|axis|\d+)\b|%|\$|€",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]{3,}")
PADDING = 0.012  # of the page, so that rules and axis labels at the edge stay in


@dataclass(frozen=True, slots=True)
class CropPlan:
    page_id: UUID
    box: Box
    label: str = ""
    requested: bool = False


def looks_tabular(question: str) -> bool:
    """Whether the question asks for something that tables and charts hold."""
    return bool(_NUMERIC.search(question))


def choose_crops(
    question: str,
    pages: Sequence[PageView],
    requested: Mapping[UUID, str],
    taken: Sequence[tuple[UUID, Box]],
    most: int = 5,
) -> list[CropPlan]:
    """At most `most - len(taken)` crops: asked for by the reader, named in the question, then by caption words and area.

    `pages` come in reading order, the most promising first. `requested` maps pages to table or figure. `taken` are the crops of
    earlier rounds: the bound holds for the whole question.
    """
    left = most - len(taken)
    if left <= 0:
        return []
    labels, words = named_captions(question), {w.lower() for w in _WORD.findall(question)}
    scored = []
    for rank, page in enumerate(pages):
        dense = page.role in ("table_heavy", "figure_heavy")
        for block in page.blocks:
            if block.kind not in (BlockKind.TABLE, BlockKind.FIGURE):
                continue
            box = _padded(_with_caption(block, page.blocks))
            wanted = requested.get(page.page_id) == block.kind.value
            named = bool(block.label) and caption_label(block.label) in labels
            if (page.page_id, box) in taken or not (wanted or named or dense or looks_tabular(question)):
                continue
            own = {w.lower() for w in _WORD.findall(_text_near(block, page))}
            area = (box[2] - box[0]) * (box[3] - box[1])
            key = (not wanted, not named, -len(words & own), rank, -area)
            scored.append((key, CropPlan(page.page_id, box, block.label, wanted)))
    scored.sort(key=lambda item: item[0])
    return [plan for _, plan in scored[:left]]


def _text_near(block: Block, page: PageView) -> str:
    captions = " ".join(page.text[b.start : b.end] for b in page.blocks if b.kind is BlockKind.CAPTION and _close(block, b))
    return f"{block.label} {captions} {page.text[block.start : block.end][:2000]}"


def _close(block: Block, caption: Block) -> bool:
    """A caption right above or below the block, and over or under it."""
    gap = max(caption.box[1] - block.box[3], block.box[1] - caption.box[3])
    return gap < 0.04 and caption.box[0] < block.box[2] and block.box[0] < caption.box[2]


def _with_caption(block: Block, blocks: Sequence[Block]) -> Box:
    boxes = [block.box, *(b.box for b in blocks if b.kind is BlockKind.CAPTION and _close(block, b))]
    return (min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes))


def _padded(box: Box) -> Box:
    x0, y0, x1, y1 = box
    return (max(x0 - PADDING, 0.0), max(y0 - PADDING, 0.0), min(x1 + PADDING, 1.0), min(y1 + PADDING, 1.0))
