"""What PDFium does inside the parsing process: look at the file, draw pages, draw a part of a page. JSON in, JSON out."""

from __future__ import annotations

import contextlib
import io
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2 as pdfium
from pypdfium2 import raw

from ingestion.domain.cleaning import clean_line
from ingestion.domain.errors import failure
from ingestion.seams.renderer.pdfium_open import is_xfa, opened

MAX_OUTLINE = 5000
MAX_ATTACHMENTS = 200
MAX_SCALE = 300 / 72  # pixels a point: above this a picture gains nothing
MAX_SIDE_POINTS = 200_000.0  # a page box beyond this is nonsense
FLAT = 6  # grey levels that a page without anything on it may span
JPEG_QUALITY = 80


def inspect(path: str, password: str | None, max_pages: int) -> dict[str, Any]:
    with opened(path, password) as document:
        pdf = document.pdf
        count = len(pdf)
        if count == 0:
            raise failure("no_pages")
        if count > max_pages:
            raise failure("too_many_pages", f"{count} pages; at most {max_pages} are taken")
        if is_xfa(pdf, path) and _characters(pdf, 5) < 200:
            raise failure("xfa_form")
        warnings = ["repaired"] if document.repaired else []
        return {
            "pages": [_geometry(pdf, index) for index in range(count)],
            "title": clean_line(str(pdf.get_metadata_value("Title") or ""), 500),
            "outline": _outline(pdf, count, warnings),
            "attachments": _attachments(pdf),
            "permissions_restricted": raw.FPDF_GetDocPermissions(pdf) & 0xFFFFFFFF != 0xFFFFFFFF,
            "repaired": document.repaired,
            "warnings": warnings,
        }


def _characters(pdf: pdfium.PdfDocument, pages: int) -> int:
    total = 0
    for index in range(min(pages, len(pdf))):
        with contextlib.closing(pdf[index]) as page, contextlib.closing(page.get_textpage()) as text:
            total += text.count_chars()
    return total


def _geometry(pdf: pdfium.PdfDocument, index: int) -> list[Any]:
    try:
        width, height = pdf.get_page_size(index)
    except pdfium.PdfiumError:
        width, height = 0.0, 0.0
    try:
        label = clean_line(pdf.get_page_label(index) or "", 64)
    except (pdfium.PdfiumError, UnicodeDecodeError):
        label = ""
    return [index + 1, label or str(index + 1), float(width), float(height)]


def _outline(pdf: pdfium.PdfDocument, count: int, warnings: list[str]) -> list[list[Any]]:
    entries = []
    try:
        for mark in itertools.islice(pdf.get_toc(max_depth=8), MAX_OUTLINE):
            target = mark.get_dest()
            index = target.get_index() if target is not None else None
            title = clean_line(mark.get_title() or "", 300)
            if title and index is not None and 0 <= index < count:
                entries.append([title, mark.level + 1, index + 1])
    except (pdfium.PdfiumError, ValueError, UnicodeDecodeError):
        warnings.append("outline_damaged")
    return entries


def _attachments(pdf: pdfium.PdfDocument) -> list[str]:
    names = []
    for index in range(min(pdf.count_attachments(), MAX_ATTACHMENTS)):
        try:
            names.append(clean_line(pdf.get_attachment(index).get_name(), 300))
        except (pdfium.PdfiumError, UnicodeDecodeError):
            names.append(f"attachment {index + 1}")
    return names


def render(path: str, password: str | None, pages: list[int], out_dir: str, long_side: int, max_pixels: int) -> list[dict[str, Any]]:
    with opened(path, password) as document:
        return [_draw(document.pdf, number, Path(out_dir), long_side, max_pixels) for number in pages]


def scale_for(width: float, height: float, long_side: int, max_pixels: int) -> float | None:
    """Pixels a point, from the page's size alone, before anything is allocated; None for a page that has no drawable size."""
    if not (0 < width <= MAX_SIDE_POINTS and 0 < height <= MAX_SIDE_POINTS):
        return None
    scale = min(long_side / max(width, height), MAX_SCALE, (max_pixels / (width * height)) ** 0.5)
    return scale if min(width, height) * scale >= 1 else None


def _draw(pdf: pdfium.PdfDocument, number: int, out_dir: Path, long_side: int, max_pixels: int) -> dict[str, Any]:
    result: dict[str, Any] = {"number": number, "path": None, "width_px": 0, "height_px": 0, "blank": False, "warnings": []}
    try:
        with contextlib.closing(pdf[number - 1]) as page:
            scale = scale_for(*page.get_size(), long_side, max_pixels)
            if scale is None:
                result["warnings"].append("page_size_not_drawable")
                return result
            image = page.render(scale=scale, may_draw_forms=True, fill_color=(255, 255, 255, 255)).to_pil().convert("RGB")
    except pdfium.PdfiumError:
        result["warnings"].append("page_not_drawable")
        return result
    grey = np.asarray(image.convert("L"))
    target = out_dir / f"{number}.jpg"
    image.save(target, "JPEG", quality=JPEG_QUALITY)
    result.update(
        path=str(target), width_px=image.width, height_px=image.height, blank=bool(int(grey.max()) - int(grey.min()) <= FLAT)
    )
    return result


def crop(path: str, password: str | None, page: int, box: list[float], out_dir: str, long_side: int, max_pixels: int) -> str:
    with opened(path, password) as document, contextlib.closing(document.pdf[page - 1]) as found:
        width, height = found.get_size()
        x0, y0, x1, y1 = (min(1.0, max(0.0, side)) for side in box)
        scale = scale_for(max(1.0, (x1 - x0) * width), max(1.0, (y1 - y0) * height), long_side, max_pixels)
        if scale is None:
            raise failure("corrupt")
        margins = (x0 * width, (1 - y1) * height, (1 - x1) * width, y0 * height)  # left, bottom, right, top
        image = found.render(scale=scale, crop=margins).to_pil().convert("RGB")
        target = Path(out_dir, "crop.jpg")
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=JPEG_QUALITY)
        target.write_bytes(buffer.getvalue())
        return str(target)
