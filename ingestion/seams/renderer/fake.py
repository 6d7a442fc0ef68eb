"""The fake renderer: a document is UTF-8 text, a form feed ends a page. Told to, it fails with a given code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ingestion.domain.errors import failure
from ingestion.domain.pages import Inspection, PageGeometry, RenderedPage
from ingestion.seams.renderer import Limits


class TextRenderer:
    name = "fake"
    version = "1"

    def inspect(self, pdf: Path, limits: Limits, password: str | None = None) -> Inspection:
        content = pdf.read_bytes()
        if content.startswith(b"FAIL "):
            raise failure(content[5:].split()[0].decode())
        pages = content.decode().split("\f")
        if len(pages) > limits.max_pages:
            raise failure("too_many_pages")
        return Inspection(tuple(PageGeometry(number, str(number), 612, 792) for number in range(1, len(pages) + 1)))

    def render(
        self, pdf: Path, pages: Sequence[int], out_dir: Path, long_side: int, limits: Limits, password: str | None = None
    ) -> list[RenderedPage]:
        drawn = []
        texts = pdf.read_bytes().decode().split("\f")
        for number in pages:
            path = out_dir / f"{number}.jpg"
            path.write_bytes(b"picture of page %d" % number)
            drawn.append(RenderedPage(number, str(path), 85, 110, blank=not texts[number - 1].strip()))
        return drawn

    def crop(
        self, pdf: Path, page: int, box: tuple[float, float, float, float], long_side: int, limits: Limits, password: str | None = None
    ) -> bytes:
        return b"crop"
