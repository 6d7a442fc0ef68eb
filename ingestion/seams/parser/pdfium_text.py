"""The parser over PDFium's text layer, with OCR for pages that have none that is usable; always in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ingestion.domain.errors import IngestionError
from ingestion.domain.pages import Block, BlockKind, ReadPage, TextSource, Word
from ingestion.seams.renderer import Limits
from ingestion.seams.renderer.pdfium import DEATHS, SINGLE_PAGE_SECONDS
from ingestion.seams.sandbox import run_bounded

CHILD = "ingestion.seams.parser.pdfium_child:read"
OWN_VERSION = "1"


class PdfiumTextParser:
    name = "pdfium-text"

    def __init__(self, ocr: bool = True) -> None:
        self.ocr = ocr

    @property
    def version(self) -> str:
        engine = f" rapidocr {version('rapidocr')}" if self.ocr else ""
        return f"{version('pypdfium2')}/{OWN_VERSION}{engine}"

    def read(
        self, pdf: Path, pages: Sequence[int], images: Mapping[int, Path], limits: Limits, password: str | None = None
    ) -> list[ReadPage]:
        arguments = {
            "path": str(pdf),
            "password": password,
            "images": {str(number): str(path) for number, path in images.items()},
            "ocr": self.ocr,
        }
        try:
            found = run_bounded(CHILD, {**arguments, "pages": list(pages)}, limits)
        except IngestionError as error:
            if error.code not in DEATHS:
                raise
            # one page took the process down: each is read alone, and only the culprit goes without text
            single = replace(limits, seconds=min(limits.seconds, SINGLE_PAGE_SECONDS))
            found = [page for number in pages for page in self._alone(arguments, number, single)]
        return [_typed(page) for page in found]

    def _alone(self, arguments: dict[str, Any], number: int, limits: Limits) -> list[dict[str, Any]]:
        try:
            found: list[dict[str, Any]] = run_bounded(CHILD, {**arguments, "pages": [number]}, limits)
            return found
        except IngestionError as error:
            if error.code not in DEATHS:
                raise
            warning = f"reading_{error.code.removeprefix('parser_')}"
            return [{"number": number, "text": "", "source": "none", "words": [], "blocks": [], "warnings": [warning]}]


def _typed(page: dict[str, Any]) -> ReadPage:
    return ReadPage(
        number=page["number"],
        text=page["text"],
        source=TextSource(page["source"]),
        words=tuple(Word(int(s), int(e), int(line), (x0, y0, x1, y1)) for s, e, line, x0, y0, x1, y1 in page["words"]),
        blocks=tuple(
            Block(BlockKind(kind), start, end, tuple(box), level, label) for kind, start, end, box, level, label in page["blocks"]
        ),
        warnings=tuple(page["warnings"]),
    )
