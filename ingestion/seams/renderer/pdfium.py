"""The renderer over PDFium (pypdfium2), always in a process of its own: PDFium is not thread-safe and files may be hostile."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ingestion.domain.errors import IngestionError
from ingestion.domain.pages import Inspection, OutlineEntry, PageGeometry, RenderedPage
from ingestion.seams.renderer import Limits
from ingestion.seams.sandbox import run_bounded

CHILD = "ingestion.seams.renderer.pdfium_child"
OWN_VERSION = "1"
SINGLE_PAGE_SECONDS = 60.0
DEATHS = ("parser_died", "parser_memory", "parser_timeout")


class PdfiumRenderer:
    name = "pdfium"

    @property
    def version(self) -> str:
        return f"{version('pypdfium2')}/{OWN_VERSION}"

    def inspect(self, pdf: Path, limits: Limits, password: str | None = None) -> Inspection:
        found = run_bounded(f"{CHILD}:inspect", {"path": str(pdf), "password": password, "max_pages": limits.max_pages}, limits)
        return Inspection(
            pages=tuple(PageGeometry(number, label, width, height) for number, label, width, height in found["pages"]),
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
        arguments = {
            "path": str(pdf), "password": password, "out_dir": str(out_dir), "long_side": long_side, "max_pixels": limits.max_pixels,
        }  # fmt: skip
        try:
            drawn = run_bounded(f"{CHILD}:render", {**arguments, "pages": list(pages)}, limits)
        except IngestionError as error:
            if error.code not in DEATHS:
                raise
            # one page took the process down: each is drawn alone, and only the culprit goes without a picture
            single = replace(limits, seconds=min(limits.seconds, SINGLE_PAGE_SECONDS))
            drawn = [page for number in pages for page in self._alone(arguments, number, single)]
        return [RenderedPage(**{**page, "warnings": tuple(page["warnings"])}) for page in drawn]

    def _alone(self, arguments: dict[str, Any], number: int, limits: Limits) -> list[dict[str, Any]]:
        try:
            found: list[dict[str, Any]] = run_bounded(f"{CHILD}:render", {**arguments, "pages": [number]}, limits)
            return found
        except IngestionError as error:
            if error.code not in DEATHS:
                raise
            return [{"number": number, "path": None, "warnings": [f"drawing_{error.code.removeprefix('parser_')}"]}]

    def crop(
        self, pdf: Path, page: int, box: tuple[float, float, float, float], long_side: int, limits: Limits, password: str | None = None
    ) -> bytes:
        with tempfile.TemporaryDirectory(prefix="docmemo-crop-") as folder:
            path = run_bounded(
                f"{CHILD}:crop",
                {
                    "path": str(pdf), "password": password, "page": page, "box": list(box), "out_dir": folder,
                    "long_side": long_side, "max_pixels": limits.max_pixels,
                },
                limits,
            )  # fmt: skip
            return Path(path).read_bytes()
