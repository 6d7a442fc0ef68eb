"""The renderer over PDFium, always in a process of its own: PDFium is not thread-safe, and files may be hostile."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any

from ingestion.domain.errors import failure
from ingestion.domain.pages import Inspection, OutlineEntry, PageGeometry, RenderedPage
from ingestion.seams.renderer import Limits
from ingestion.seams.sandbox import Bounds, Ended, run, run_whole

CHILD = "ingestion.seams.renderer.pdfium_child"
OWN_VERSION = "1"  # moves when the same file would be drawn or described differently
PAGE_SECONDS = 60.0
MAX_LOST = 5  # pages of one window that may take their process down before the file is given up


class PdfiumRenderer:
    """A `Renderer`. `page_seconds` bounds one page, the limits of a call bound the call."""

    name = "pdfium"

    def __init__(self, page_seconds: float = PAGE_SECONDS) -> None:
        self.page_seconds = page_seconds
        self.version = f"{version('pypdfium2')}-{version('pikepdf')}-{OWN_VERSION}"

    def inspect(self, pdf: Path, limits: Limits, password: str | None = None) -> Inspection:
        argument = {"path": str(pdf.resolve()), "password": password, "max_pages": limits.max_pages}
        [found] = run_whole(f"{CHILD}:inspect", argument, bounds_of(limits))
        return Inspection(
            pages=tuple(PageGeometry(*page) for page in found["pages"]),
            title=found["title"],
            outline=tuple(OutlineEntry(*entry) for entry in found["outline"]),
            attachments=tuple(found["attachments"]),
            permissions_restricted=found["permissions_restricted"],
            repaired=found["repaired"],
            warnings=tuple(found["warnings"]),
        )

    def render(
        self, pdf: Path, pages: Sequence[int], out_dir: Path, long_side: int, limits: Limits, password: str | None = None
    ) -> list[RenderedPage]:
        argument = {
            "path": str(pdf.resolve()), "password": password, "out_dir": str(out_dir.resolve()),
            "long_side": long_side, "max_pixels": limits.max_pixels,
        }  # fmt: skip
        drawn = page_by_page(f"{CHILD}:render", argument, pages, bounds_of(limits, self.page_seconds), _lost)
        return [RenderedPage(**{**page, "warnings": tuple(page["warnings"])}) for page in drawn]

    def crop(
        self, pdf: Path, page: int, box: tuple[float, float, float, float], long_side: int, limits: Limits, password: str | None = None
    ) -> bytes:
        """As the contract says; ValueError for a box that is empty or outside of the page."""
        x0, y0, x1, y1 = (min(1.0, max(0.0, side)) for side in box)
        if not (x0 < x1 and y0 < y1):
            raise ValueError(f"not a part of a page: {box}")
        with tempfile.TemporaryDirectory(prefix="docmemo-crop-") as folder:
            target = Path(folder, "crop.jpg")
            argument = {
                "path": str(pdf.resolve()), "password": password, "page": page, "box": [x0, y0, x1, y1],
                "target": str(target), "long_side": long_side, "max_pixels": limits.max_pixels,
            }  # fmt: skip
            run_whole(f"{CHILD}:crop", argument, bounds_of(limits))
            return target.read_bytes()


def bounds_of(limits: Limits, item_seconds: float = float("inf")) -> Bounds:
    """What a child may use under the limits of a call."""
    return Bounds(limits.memory_bytes, limits.seconds, item_seconds, limits.output_bytes)


def page_by_page(
    function: str, argument: Mapping[str, Any], pages: Sequence[int], bounds: Bounds, lost: Callable[[int, str], dict[str, Any]]
) -> list[dict[str, Any]]:
    """One value for each page, in order; a page that takes its process down is tried alone, then given up as `lost(page, code)`.

    The function yields an empty value once the file is open, then one for each of its `pages`. Raises what it raises, the
    failure of a child that died before the file was open, and `parser_timeout` when all of it takes longer than the bounds.
    """
    start, done, losses = monotonic(), [], 0
    while len(done) < len(pages):
        rest = list(pages[len(done) :])
        ended = _some(function, argument, rest, _remaining(bounds, start), done)
        if not ended.died:
            continue
        suspect = pages[len(done)]
        ended = _some(function, argument, [suspect], _remaining(bounds, start), done)
        if ended.died:
            losses += 1
            assert ended.failure is not None
            if losses > MAX_LOST:
                raise ended.failure
            done.append(lost(suspect, ended.failure.code))
    return done


def _some(function: str, argument: Mapping[str, Any], pages: list[int], bounds: Bounds, done: list[dict[str, Any]]) -> Ended:
    """Run over the pages and add what was finished to `done`; raises unless all went well or a page took the child down."""
    values, ended = run(function, {**argument, "pages": pages}, bounds)
    done.extend(values[1:])
    if ended.failure is not None and (not ended.died or not values):
        raise ended.failure
    return ended


def _remaining(bounds: Bounds, start: float) -> Bounds:
    left = bounds.seconds - (monotonic() - start)
    if left <= 0:
        raise failure("parser_timeout", f"{bounds.seconds:.0f} seconds")
    return replace(bounds, seconds=left)


def _lost(number: int, code: str) -> dict[str, Any]:
    return {"number": number, "path": None, "warnings": [f"drawing_failed_{code.removeprefix('parser_')}"]}
