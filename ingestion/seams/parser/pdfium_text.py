"""The parser over PDFium's text layer, with OCR for the pages that have none; always in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ingestion.domain.pages import Box, ReadPage, TextSource, Word
from ingestion.seams.parser.blocks import blocks_of, body_size, repeated_margins
from ingestion.seams.parser.layout import Cell, Line
from ingestion.seams.parser.ocr import OcrSettings
from ingestion.seams.renderer import Limits
from ingestion.seams.renderer.pdfium import PAGE_SECONDS, bounds_of, page_by_page

CHILD = "ingestion.seams.parser.pdfium_child:read"
# Letters of a heading against the body's. Heights in a picture are those of the letters that a line happens to have.
LARGER = {TextSource.LAYER: 1.15, TextSource.OCR: 1.4, TextSource.NONE: 1.0}
OWN_VERSION = "1"  # moves when the same file would be read differently


class PdfiumTextParser:
    """A `Parser`. `ocr` None leaves pictures unread; `page_seconds` bounds one page, the limits of a call bound the call."""

    name = "pdfium-text"

    def __init__(self, ocr: OcrSettings | None = OcrSettings(), page_seconds: float = PAGE_SECONDS) -> None:  # noqa: B008 - frozen
        self.ocr = ocr
        self.page_seconds = page_seconds
        engine = f"-rapidocr {version('rapidocr')} {ocr.long_side}" if ocr else ""
        self.version = f"{version('pypdfium2')}-{OWN_VERSION}{engine}"

    def read(
        self, pdf: Path, pages: Sequence[int], images: Mapping[int, Path], limits: Limits, password: str | None = None
    ) -> list[ReadPage]:
        argument = {
            "path": str(pdf.resolve()),
            "password": password,
            "images": {str(number): str(path.resolve()) for number, path in images.items()},
            "ocr": asdict(self.ocr) if self.ocr else None,
        }
        found = page_by_page(CHILD, argument, pages, bounds_of(limits, self.page_seconds), _lost)
        lines = [_lines(page) for page in found]
        body = body_size([own for page, own in zip(found, lines, strict=True) if page["source"] == TextSource.LAYER.value])
        repeated = repeated_margins([(page["text"], own) for page, own in zip(found, lines, strict=True)])
        return [_typed(page, own, body, repeated) for page, own in zip(found, lines, strict=True)]


def _lost(number: int, code: str) -> dict[str, Any]:
    warning = f"reading_failed_{code.removeprefix('parser_')}"
    return {
        "number": number, "text": "", "source": TextSource.NONE.value, "words": [], "lines": [], "figures": [], "rules": [],
        "warnings": [warning],
    }  # fmt: skip


def _lines(page: Mapping[str, Any]) -> list[Line]:
    return [
        Line(start, end, _box(box), size, bold, tuple(Cell(s, e, _box(b)) for s, e, b in cells))
        for start, end, box, size, bold, cells in page["lines"]
    ]


def _typed(page: Mapping[str, Any], lines: Sequence[Line], body: float, repeated: frozenset[str]) -> ReadPage:
    """With its blocks. A page that was read from its picture has a size of body text of its own."""
    source = TextSource(page["source"])
    own = body if source is TextSource.LAYER else body_size([lines])
    figures, rules = [_box(box) for box in page["figures"]], [_box(box) for box in page["rules"]]
    return ReadPage(
        number=page["number"],
        text=page["text"],
        source=source,
        words=tuple(Word(start, end, line, (x0, y0, x1, y1)) for start, end, line, x0, y0, x1, y1 in page["words"]),
        blocks=blocks_of(page["text"], lines, own, repeated, figures, rules, LARGER[source]),
        warnings=tuple(page["warnings"]),
    )


def _box(sides: Sequence[float]) -> Box:
    x0, y0, x1, y1 = sides
    return x0, y0, x1, y1
