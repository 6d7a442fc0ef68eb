"""What PDFium does in the parsing process: look at the file, draw pages, draw a part of a page. Generators of JSON values."""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2 as pdfium
from PIL import Image
from pypdfium2 import raw

from ingestion.domain.cleaning import clean_line
from ingestion.domain.errors import failure
from ingestion.seams.renderer.pdfium_open import opened

LABEL, TITLE = 32, 300  # characters
MAX_OUTLINE, MAX_DEPTH = 5_000, 12
MAX_ATTACHMENTS = 200
MAX_TEXT16 = 8192  # bytes of a title, a name or a label
MAX_POINTS = 200_000.0  # a page side beyond this (70 metres) is nonsense
MAX_SCALE = 600 / 72  # pixels a point: beyond this a picture gains nothing
FLAT = 6  # levels of a colour that a page with nothing on it may span
JPEG_QUALITY = 80
FREE = 0b1111_0011_1100  # the permission bits 3 to 6 and 9 to 12
PLACEHOLDERS = ("please wait", "adobe reader", "acrobat reader")


def inspect(path: str, password: str | None, max_pages: int) -> Iterator[dict[str, Any]]:
    """One value: everything of an `Inspection`."""
    from ingestion.seams.renderer import qpdf  # slow to load, and drawing does not need it

    with opened(path, password) as document:
        pdf = document.pdf
        count = len(pdf)
        if count > max_pages:
            raise failure("too_many_pages", f"{count} pages, at most {max_pages} are taken")
        told = qpdf.facts(path, password, count)
        form = told.dynamic_form or raw.FPDF_GetFormType(pdf) == raw.FORMTYPE_XFA_FULL
        restricted = raw.FPDF_GetSecurityHandlerRevision(pdf) >= 0 and raw.FPDF_GetDocPermissions(pdf) & FREE != FREE
        if form and _only_a_placeholder(pdf):
            raise failure("xfa_form")
        warnings = ["repaired"] * document.repaired + ["xfa_form_with_pages"] * form
        pages = [_geometry(pdf, index, told.rotations) for index in range(count)]
        if any(page[2] <= 0 or page[3] <= 0 for page in pages):
            warnings.append("page_damaged")
        yield {
            "pages": pages,
            "title": clean_line(_text16(lambda buffer, size: raw.FPDF_GetMetaText(pdf, b"Title", buffer, size)), TITLE),
            "outline": _outline(pdf, count),
            "attachments": _attachments(pdf),
            "permissions_restricted": restricted or told.restricted,
            "repaired": document.repaired,
            "warnings": warnings,
        }


def _only_a_placeholder(pdf: pdfium.PdfDocument) -> bool:
    """Whether the pages of a dynamic form hold nothing but "please wait": its content is then in the form alone."""
    if len(pdf) > 3:
        return False
    text = ""
    for index in range(len(pdf)):
        with contextlib.closing(pdf[index]) as page, contextlib.closing(page.get_textpage()) as textpage:
            text += textpage.get_text_range()
    return len(text.strip()) < 40 or any(words in text.lower() for words in PLACEHOLDERS)


def _geometry(pdf: pdfium.PdfDocument, index: int, rotations: tuple[int, ...]) -> list[Any]:
    size = raw.FS_SIZEF()
    known = raw.FPDF_GetPageSizeByIndexF(pdf, index, size)
    width, height = (size.width, size.height) if known else (0.0, 0.0)
    if not (math.isfinite(width) and math.isfinite(height)):
        width = height = 0.0
    label = clean_line(_text16(lambda buffer, length: raw.FPDF_GetPageLabel(pdf, index, buffer, length)), LABEL)
    return [index + 1, label or str(index + 1), width, height, rotations[index] if rotations else 0]


def _text16(call: Callable[[Any, int], int]) -> str:
    """What a PDFium function writes as UTF-16 with a final NUL; nothing when that is too long to be meant."""
    size = call(None, 0)
    if not 2 < size <= MAX_TEXT16:
        return ""
    buffer = ctypes.create_string_buffer(size)
    call(buffer, size)
    return buffer.raw[: size - 2].decode("utf-16-le", errors="ignore")


def _outline(pdf: pdfium.PdfDocument, count: int) -> list[list[Any]]:
    """Rows [title, level, page]; entries that point nowhere are dropped, what hangs under them is kept."""
    rows: list[list[Any]] = []
    seen: set[int] = set()

    def walk(parent: Any, level: int) -> None:
        mark = raw.FPDFBookmark_GetFirstChild(pdf, parent)
        while mark and len(seen) < MAX_OUTLINE:
            address = ctypes.addressof(mark.contents)
            if address in seen:
                return
            seen.add(address)
            index = _target(pdf, mark)
            current = mark
            title = clean_line(_text16(lambda buffer, size, at=current: raw.FPDFBookmark_GetTitle(at, buffer, size)), TITLE)
            if title and 0 <= index < count:
                rows.append([title, level, index + 1])
            if level < MAX_DEPTH:
                walk(mark, level + 1)
            mark = raw.FPDFBookmark_GetNextSibling(pdf, mark)

    walk(None, 1)
    return rows


def _target(pdf: pdfium.PdfDocument, mark: Any) -> int:
    target = raw.FPDFBookmark_GetDest(pdf, mark)
    if not target:
        action = raw.FPDFBookmark_GetAction(mark)
        if action and raw.FPDFAction_GetType(action) == raw.PDFACTION_GOTO:
            target = raw.FPDFAction_GetDest(pdf, action)
    return raw.FPDFDest_GetDestPageIndex(pdf, target) if target else -1


def _attachments(pdf: pdfium.PdfDocument) -> list[str]:
    names = []
    for index in range(min(raw.FPDFDoc_GetAttachmentCount(pdf), MAX_ATTACHMENTS)):
        found = raw.FPDFDoc_GetAttachment(pdf, index)
        name = ""
        if found:
            name = _text16(
                lambda buffer, size, at=found: raw.FPDFAttachment_GetName(
                    at, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)) if buffer else None, size
                )
            )
        names.append(clean_line(name, TITLE) or f"attachment {index + 1}")
    return names


def render(path: str, password: str | None, pages: list[int], out_dir: str, long_side: int, max_pixels: int) -> Iterator[dict[str, Any]]:
    """One value for each page asked, as a `RenderedPage`."""
    with opened(path, password) as document:
        yield {}  # it opened: what goes wrong from here on is a page's fault
        for number in pages:
            yield _draw(document.pdf, number, Path(out_dir), long_side, max_pixels)


def scale_for(width: float, height: float, long_side: int, max_pixels: int) -> float | None:
    """Pixels a point, from the size alone, before anything is allocated; None for a size that cannot be drawn.

    A page is drawn so that its long side is `long_side`, smaller where that is more than `max_pixels` in all.
    """
    if not (0 < width <= MAX_POINTS and 0 < height <= MAX_POINTS):
        return None
    # a hair less, since PDFium rounds up
    scale = (1 - 1e-6) * min(long_side / max(width, height), math.sqrt(max_pixels / (width * height)), MAX_SCALE)
    return scale if min(width, height) * scale >= 1 else None


def _draw(pdf: pdfium.PdfDocument, number: int, out_dir: Path, long_side: int, max_pixels: int) -> dict[str, Any]:
    if not 1 <= number <= len(pdf):
        return _undrawn(number, "page_missing")
    try:
        with contextlib.closing(pdf[number - 1]) as page:
            scale = scale_for(*page.get_size(), long_side, max_pixels)
            if scale is None:
                return _undrawn(number, "page_size_not_drawable")
            picture = _picture(page, scale)
    except pdfium.PdfiumError:
        return _undrawn(number, "page_not_drawable")
    target = out_dir / f"{number}.jpg"
    picture.save(target, "JPEG", quality=JPEG_QUALITY)
    return {
        "number": number, "path": str(target), "width_px": picture.width, "height_px": picture.height,
        "blank": is_flat(np.asarray(picture)), "warnings": [],
    }  # fmt: skip


def _undrawn(number: int, why: str) -> dict[str, Any]:
    return {"number": number, "path": None, "width_px": 0, "height_px": 0, "blank": False, "warnings": [why]}


def is_flat(pixels: np.ndarray) -> bool:
    """Whether an image (height x width, or x 3) is one colour."""
    flat = pixels.reshape(-1, pixels.shape[2] if pixels.ndim == 3 else 1)
    return bool((flat.max(axis=0).astype(int) - flat.min(axis=0) <= FLAT).all())


def _picture(page: pdfium.PdfPage, scale: float, crop: tuple[float, float, float, float] = (0, 0, 0, 0)) -> Image.Image:
    bitmap = page.render(scale=scale, crop=crop, may_draw_forms=False, fill_color=(255, 255, 255, 255), rev_byteorder=True)
    try:
        return bitmap.to_pil().convert("RGB")
    finally:
        bitmap.close()


def crop(path: str, password: str | None, page: int, box: list[float], target: str, long_side: int, max_pixels: int) -> Iterator[bool]:
    """True when the part of the page was drawn into `target`."""
    with opened(path, password) as document:
        if not 1 <= page <= len(document.pdf):
            raise failure("corrupt", f"there is no page {page}")
        try:
            with contextlib.closing(document.pdf[page - 1]) as found:
                width, height = found.get_size()
                x0, y0, x1, y1 = box
                scale = scale_for((x1 - x0) * width, (y1 - y0) * height, long_side, max_pixels)
                if scale is None:
                    raise failure("corrupt", f"page {page} has no size that could be drawn")
                margins = (x0 * width, (1 - y1) * height, (1 - x1) * width, y0 * height)  # left, bottom, right, top
                _picture(found, scale, margins).save(target, "JPEG", quality=JPEG_QUALITY)
        except pdfium.PdfiumError:
            raise failure("corrupt", f"page {page} cannot be drawn") from None
        yield True
