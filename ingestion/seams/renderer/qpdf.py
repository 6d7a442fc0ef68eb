"""What qpdf (pikepdf) does in the parsing process: mend or decrypt a file that PDFium cannot open, and tell what PDFium does not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pikepdf

from ingestion.domain.errors import failure

MENDED = "mended.pdf"  # in the child's own working folder, which goes with it
TREE_DEPTH = 64
# What a damaged file makes pikepdf raise, besides its own error.
TROUBLE = (pikepdf.PdfError, RuntimeError, ValueError, TypeError, KeyError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class Facts:
    """`rotations` are those stored for the pages, or empty when qpdf does not see the pages that PDFium sees."""

    dynamic_form: bool = False
    restricted: bool = False
    rotations: tuple[int, ...] = ()


def mend(path: str, password: str | None) -> bool:
    """Write an open and whole copy as `MENDED`; True when the file was encrypted, False when it was damaged.

    Raises the failure `encrypted`, `unsupported_encryption`, `no_pages` or `corrupt`.
    """
    try:
        with pikepdf.open(path, password=password or "") as pdf:
            pdf.save(MENDED, encryption=False)
            return pdf.is_encrypted
    except pikepdf.PasswordError:
        raise failure("encrypted") from None
    except TROUBLE as error:
        if "unsupported encryption" in str(error).lower():
            raise failure("unsupported_encryption") from None
        raise unreadable(Path(path)) from None


def unreadable(path: Path) -> Exception:
    """The failure for a file that cannot be mended: a whole file without pages is called damaged by qpdf and PDFium alike."""
    content = path.read_bytes() if path.stat().st_size < 1_000_000 else b""
    empty = re.search(rb"/Kids\s*\[\s*\]", content) and not re.search(rb"/Type\s*/Page\b", content)
    return failure("no_pages" if empty else "corrupt")


def facts(path: str, password: str | None, pages: int) -> Facts:
    """What qpdf can tell of the file; nothing where it cannot open it."""
    try:
        with pikepdf.open(path, password=password or "") as pdf:
            rotations = tuple(_rotation(page) for page in pdf.pages)
            return Facts(
                dynamic_form=bool(pdf.Root.get("/NeedsRendering", False)),
                restricted=pdf.is_encrypted and not all(pdf.allow),
                rotations=rotations if len(rotations) == pages else (),
            )
    except (pikepdf.PasswordError, *TROUBLE):
        return Facts()


def _rotation(page: pikepdf.Page) -> int:
    node = page.obj
    for _ in range(TREE_DEPTH):  # inherited from the tree above
        value = node.get("/Rotate")
        if value is not None:
            return int(value) % 360 // 90 * 90
        node = node.get("/Parent")
        if not isinstance(node, pikepdf.Dictionary):
            break
    return 0
