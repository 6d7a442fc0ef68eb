"""Opening a PDF in the parsing process: by its content, mended or decrypted by qpdf where PDFium alone cannot.

What is done depends on the bytes alone, so every child that opens the same file comes to the same pages.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pypdfium2 as pdfium
from pypdfium2 import raw

from ingestion.domain.errors import failure

HEADER_WITHIN = 1024

# What the first bytes tell a person who sent something else.
_OTHER_TYPES = (
    (b"\xff\xd8\xff", "it looks like a JPEG picture"),
    (b"\x89png", "it looks like a PNG picture"),
    (b"gif8", "it looks like a GIF picture"),
    (b"ii*\0", "it looks like a TIFF picture"),
    (b"mm\0*", "it looks like a TIFF picture"),
    (b"pk\x03\x04", "it looks like an Office document or a ZIP archive"),
    (b"\xd0\xcf\x11\xe0", "it looks like an old Office document"),
    (b"{\\rtf", "it looks like an RTF document"),
    (b"%!ps", "it looks like a PostScript file"),
    (b"<!doctype html", "it looks like a web page"),
    (b"<html", "it looks like a web page"),
)


@dataclass(frozen=True, slots=True)
class Opened:
    """A document that PDFium has open. `repaired` and `decrypted` say that it is qpdf's copy."""

    pdf: pdfium.PdfDocument
    repaired: bool = False
    decrypted: bool = False


@contextlib.contextmanager
def opened(path: str, password: str | None) -> Iterator[Opened]:
    """The document, its first page loadable. Raises the failure that a person reads."""
    _check_content(Path(path))
    found = _as_it_is(path, password) or _by_qpdf(path, password)
    try:
        yield found
    finally:
        found.pdf.close()


def _check_content(path: Path) -> None:
    with path.open("rb") as file:
        head = file.read(HEADER_WITHIN)
    if not head:
        raise failure("empty_file")
    if b"%PDF-" not in head:
        start = head.lstrip()[:64].lower()
        raise failure("not_a_pdf", next((what for magic, what in _OTHER_TYPES if start.startswith(magic)), ""))


def _as_it_is(path: str, password: str | None) -> Opened | None:
    try:
        pdf = pdfium.PdfDocument(path, password=password)
    except pdfium.PdfiumError:
        if raw.FPDF_GetLastError() == raw.FPDF_ERR_SECURITY:
            raise failure("unsupported_encryption") from None
        return None
    if len(pdf) and _loads(pdf):
        return Opened(pdf)
    pdf.close()
    return None


def _loads(pdf: pdfium.PdfDocument) -> bool:
    """Whether the first and the last page load: a page tree that PDFium counts and cannot walk is damage."""
    for index in {0, len(pdf) - 1}:
        page = raw.FPDF_LoadPage(pdf, index)
        if not page:
            return False
        raw.FPDF_ClosePage(page)
    return True


def _by_qpdf(path: str, password: str | None) -> Opened:
    from ingestion.seams.renderer import qpdf  # few files need it, and it is slow to load

    encrypted = qpdf.mend(path, password)
    try:
        pdf = pdfium.PdfDocument(qpdf.MENDED)
    except pdfium.PdfiumError:
        raise qpdf.unreadable(Path(path)) from None
    if len(pdf) and _loads(pdf):
        return Opened(pdf, repaired=not encrypted, decrypted=encrypted)
    pdf.close()
    raise qpdf.unreadable(Path(path))
