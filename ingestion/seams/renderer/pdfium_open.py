"""Opening a PDF with PDFium in a process that may die; repairing and decrypting with qpdf where PDFium cannot. For the child only."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pikepdf
import pypdfium2 as pdfium
from pypdfium2 import raw

from ingestion.domain.errors import failure

HEADER_WITHIN = 1024
MAX_SCANNED = 20_000_000  # bytes looked through for a mark of the catalogue


@dataclass(frozen=True, slots=True)
class Opened:
    pdf: pdfium.PdfDocument
    repaired: bool


@contextlib.contextmanager
def opened(path: str, password: str | None) -> Iterator[Opened]:
    """The document, as it is or as qpdf could mend it. Raises the failure that a person reads."""
    check_type(Path(path))
    with contextlib.ExitStack() as stack:
        try:
            pdf = pdfium.PdfDocument(path, password=password)
            first_page_loads(pdf)
            result = Opened(pdf, False)
        except pdfium.PdfiumError as error:
            if getattr(error, "err_code", None) == raw.FPDF_ERR_SECURITY:
                raise failure("unsupported_encryption") from None
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            pdf = pdfium.PdfDocument(mended(path, password, folder))
            result = Opened(pdf, True)
        stack.callback(pdf.close)
        yield result


def check_type(path: Path) -> None:
    """By content, not by name."""
    with path.open("rb") as file:
        head = file.read(HEADER_WITHIN)
    if not head:
        raise failure("empty_file")
    if b"%PDF-" not in head:
        raise failure("not_a_pdf", _looks_like(head))


def _looks_like(head: bytes) -> str:
    stripped = head.lstrip()[:64].lower()
    for start, name in (
        (b"\xff\xd8", "it looks like a JPEG picture"),
        (b"\x89png", "it looks like a PNG picture"),
        (b"pk\x03\x04", "it looks like an Office document or a ZIP archive"),
        (b"<!doctype html", "it looks like a web page"),
        (b"<html", "it looks like a web page"),
        (b"{\\rtf", "it looks like an RTF document"),
        (b"\xd0\xcf\x11\xe0", "it looks like an old Office document"),
    ):
        if stripped.startswith(start):
            return name
    return ""


def first_page_loads(pdf: pdfium.PdfDocument) -> None:
    """A page tree that PDFium counts but cannot walk is as good as damaged."""
    if len(pdf):
        pdf[0].close()


def mended(path: str, password: str | None, folder: str) -> str:
    """A copy that qpdf has decrypted or rebuilt. Raises encrypted, no_pages or corrupt."""
    target = str(Path(folder, "mended.pdf"))
    try:
        with pikepdf.open(path, password=password or "") as pdf:
            if not len(pdf.pages):
                raise failure("no_pages")
            pdf.save(target)
        with contextlib.closing(pdfium.PdfDocument(target)) as again:
            first_page_loads(again)
    except pikepdf.PasswordError:
        raise failure("encrypted") from None
    except (pikepdf.PdfError, pdfium.PdfiumError, RuntimeError, ValueError, RecursionError):
        content = Path(path).read_bytes()
        if re.search(rb"/Count\s+0\b", content) and not re.search(rb"/Type\s*/Page\b", content):
            raise failure("no_pages") from None
        raise failure("corrupt") from None
    return target


def is_xfa(pdf: pdfium.PdfDocument, path: str) -> bool:
    """A form whose content is XFA: its pages are a placeholder, or say that they need another program."""
    if raw.FPDF_GetFormType(pdf) == raw.FORMTYPE_XFA_FULL:
        return True
    with Path(path).open("rb") as file:
        return bool(re.search(rb"/NeedsRendering\s+true", file.read(MAX_SCANNED)))
