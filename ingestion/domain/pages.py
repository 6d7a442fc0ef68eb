"""What a page is once it has been read: its geometry, its one canonical text, its words' places, its blocks.

All boxes are `(x0, y0, x1, y1)` in fractions of the page AS DISPLAYED (crop box applied, /Rotate applied), origin top
left. All page numbers are physical and 1-based; `label` is the printed one and may differ. All offsets are Python
string indices into the page's canonical text, half open.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

Box = tuple[float, float, float, float]


class TextSource(StrEnum):
    """Where a page's canonical text came from."""

    LAYER = "layer"  # the PDF's own text
    OCR = "ocr"  # read from the picture, since the layer was missing or unusable
    NONE = "none"  # the page shows nothing that could be read


class BlockKind(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    TABLE = "table"
    FIGURE = "figure"
    CAPTION = "caption"
    LIST = "list"
    FURNITURE = "furniture"  # running head, foot, page number


@dataclass(frozen=True, slots=True)
class PageGeometry:
    """Size in points as displayed, rotation in degrees (0, 90, 180, 270) as stored, printed label."""

    number: int
    label: str
    width: float
    height: float
    rotation: int = 0


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    title: str
    level: int  # 1 is the top
    page: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a look at the whole file tells before any page is read."""

    pages: tuple[PageGeometry, ...]
    title: str = ""
    outline: tuple[OutlineEntry, ...] = ()
    attachments: tuple[str, ...] = ()
    permissions_restricted: bool = False
    repaired: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def page_count(self) -> int:
        return len(self.pages)


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page's picture in `path` (JPEG); `path` is None when the page could not be drawn, and `warnings` say why."""

    number: int
    path: str | None
    width_px: int = 0
    height_px: int = 0
    blank: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Word:
    start: int
    end: int
    line: int  # 0-based line of the page, for one box a line
    box: Box


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of the page's structure; `start:end` is its range in the canonical text (empty for a bare figure)."""

    kind: BlockKind
    start: int
    end: int
    box: Box
    level: int = 0  # headings: 1 is the top
    label: str = ""  # captions, tables, figures: "Table 2", "Figure 3"


@dataclass(frozen=True, slots=True)
class ReadPage:
    """One page, read: the canonical text with its words and blocks, cleaned for storing (no NUL, no surrogates)."""

    number: int
    text: str
    source: TextSource
    words: tuple[Word, ...] = ()
    blocks: tuple[Block, ...] = ()
    warnings: tuple[str, ...] = field(default=())
