"""Reading pages: text with word boxes, headings, tables, figures, captions; OCR where a page has no usable text layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ingestion.domain.pages import ReadPage
from ingestion.seams.renderer import Limits


class Parser(Protocol):
    name: str
    version: str

    def read(
        self, pdf: Path, pages: Sequence[int], images: Mapping[int, Path], limits: Limits, password: str | None = None
    ) -> list[ReadPage]:
        """Read the pages, in the order asked. `images` holds the drawn pages (for OCR and for checking what is visible)."""
