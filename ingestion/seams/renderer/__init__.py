"""Looking at a PDF as a whole and drawing its pages. Implementations parse in a process that can die alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ingestion.domain.pages import Inspection, RenderedPage


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call in a parsing process may use."""

    memory_bytes: int
    seconds: float
    max_pages: int
    max_pixels: int = 40_000_000  # of one drawn page, before any decoding
    output_bytes: int = 512 * 1024 * 1024


class Renderer(Protocol):
    name: str
    version: str

    def inspect(self, pdf: Path, limits: Limits, password: str | None = None) -> Inspection:
        """The file's pages, outline and labels. Raises a `Permanent` or `NeedsHuman` failure of `DOCUMENT_FAILURES`."""

    def render(
        self, pdf: Path, pages: Sequence[int], out_dir: Path, long_side: int, limits: Limits, password: str | None = None
    ) -> list[RenderedPage]:
        """Draw the pages as JPEG files in `out_dir`, the long side at most `long_side` pixels; one result for each page asked."""

    def crop(
        self, pdf: Path, page: int, box: tuple[float, float, float, float], long_side: int, limits: Limits, password: str | None = None
    ) -> bytes:
        """Draw a part of a page (fractions of the displayed page) anew at a higher resolution; JPEG bytes."""
