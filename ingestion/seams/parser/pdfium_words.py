"""Words of a page's text layer with their places as displayed. For the child only."""

from __future__ import annotations

import ctypes
import unicodedata
from dataclasses import dataclass

import numpy as np
import pypdfium2 as pdfium
from pypdfium2 import raw

from ingestion.domain.cleaning import MAX_PAGE_CHARACTERS, is_unwanted

DEVICE = 1_000_000  # pixels of an imagined page, for the transformation alone
FLAT = 10  # grey levels: a word whose picture spans less is not seen
BOLD = 600


@dataclass(slots=True)
class RawWord:
    """A word with its box in fractions of the displayed page, the height of its letters in points, and whether it is bold."""

    text: str
    box: tuple[float, float, float, float]
    line: int
    size: float
    bold: bool


def transformation(page: pdfium.PdfPage) -> np.ndarray:
    """A 2x3 matrix from page coordinates to fractions of the displayed page, origin top left; crop box and rotation are in it."""
    points = [(0.0, 0.0), (1000.0, 0.0), (0.0, 1000.0)]
    mapped = []
    for x, y in points:
        device_x, device_y = ctypes.c_int(), ctypes.c_int()
        raw.FPDF_PageToDevice(page, 0, 0, DEVICE, DEVICE, 0, x, y, device_x, device_y)
        mapped.append((device_x.value / DEVICE, device_y.value / DEVICE))
    (ox, oy), (ax, ay), (bx, by) = mapped
    return np.array([[(ax - ox) / 1000, (bx - ox) / 1000, ox], [(ay - oy) / 1000, (by - oy) / 1000, oy]])


def displayed(matrix: np.ndarray, left: float, bottom: float, right: float, top: float) -> tuple[float, float, float, float]:
    """A rectangle of the page as a box of the displayed page."""
    corners = np.array([[left, bottom, 1], [right, top, 1]]) @ matrix.T
    (x0, y0), (x1, y1) = corners.min(axis=0), corners.max(axis=0)
    return float(x0), float(y0), float(x1), float(y1)


def words_of(page: pdfium.PdfPage) -> tuple[list[RawWord], str]:
    """The words in PDFium's reading order, and the raw text that they were cut from."""
    textpage = page.get_textpage()
    try:
        return _words(textpage, transformation(page), page.get_size()[1])
    finally:
        textpage.close()


def _words(textpage: pdfium.PdfTextPage, matrix: np.ndarray, page_height: float) -> tuple[list[RawWord], str]:
    words: list[RawWord] = []
    raw_text: list[str] = []
    letters: list[str] = []
    boxes: list[tuple[float, float, float, float]] = []
    first, line = -1, 0
    rectangle = raw.FS_RECTF()
    tight = [ctypes.c_double() for _ in range(4)]
    count = min(textpage.count_chars(), MAX_PAGE_CHARACTERS)

    def close() -> None:
        nonlocal letters, boxes, first
        if letters and boxes:
            box = displayed(
                matrix, min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes)
            )
            size = max(b[3] - b[1] for b in boxes)
            bold = raw.FPDFText_GetFontWeight(textpage, first) >= BOLD
            text = "".join(letters)
            if len(boxes) > 1 and _right_to_left(text) and boxes[0][0] < boxes[-1][0]:
                text = text[::-1]  # the letters were given from left to right
            words.append(RawWord(unicodedata.normalize("NFKC", text) if _right_to_left(text) else text, box, line, size, bold))
        letters, boxes, first = [], [], -1

    for index in range(count):
        code = raw.FPDFText_GetUnicode(textpage, index)
        character = chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else "\ufffd"
        raw_text.append(character)
        if character.isspace() or character == "\x00":
            close()
            line += character == "\n"
            continue
        if is_unwanted(character):
            continue
        if raw.FPDFText_GetLooseCharBox(textpage, index, rectangle) and rectangle.right > rectangle.left:
            boxes.append((rectangle.left, min(rectangle.bottom, rectangle.top), rectangle.right, max(rectangle.bottom, rectangle.top)))
        elif raw.FPDFText_GetCharBox(textpage, index, *tight):
            left, right, bottom, top = (side.value for side in tight)
            boxes.append((left, bottom, right, top))
        if first < 0:
            first = index
        letters.append(character)
    close()
    return in_logical_order(words), "".join(raw_text)


def in_logical_order(words: list[RawWord]) -> list[RawWord]:
    """Right-to-left words as they are read: PDFium gives them as they stand from left to right."""
    ordered: list[RawWord] = []
    run: list[RawWord] = []
    for word in [*words, None]:
        same_line = word is not None and (not run or word.line == run[-1].line)
        if word is not None and same_line and _right_to_left(word.text):
            run.append(word)
            continue
        # a run that climbs from left to right was given in the order it is seen
        ordered.extend(reversed(run) if len(run) > 1 and run[0].box[0] < run[-1].box[0] else run)
        run = []
        if word is not None:
            if _right_to_left(word.text):
                run.append(word)
            else:
                ordered.append(word)
    return ordered


def _right_to_left(text: str) -> bool:
    return any(unicodedata.bidirectional(c) in ("R", "AL") for c in text)


def within_page(words: list[RawWord]) -> tuple[list[RawWord], int]:
    """The words a reader can see on the displayed page, boxes cut to it, and how many lie outside."""
    kept = []
    for word in words:
        x0, y0, x1, y1 = word.box
        centre_x, centre_y = (x0 + x1) / 2, (y0 + y1) / 2
        if 0 <= centre_x <= 1 and 0 <= centre_y <= 1:
            word.box = (max(0.0, x0), max(0.0, y0), min(1.0, x1), min(1.0, y1))
            kept.append(word)
    return kept, len(words) - len(kept)


def needs_missing_font(words: list[RawWord]) -> bool:
    """Mostly Chinese, Japanese or Korean: a font that is not embedded is then not drawn, though the characters are known."""
    letters = [c for word in words for c in word.text]
    return sum(unicodedata.east_asian_width(c) in ("W", "F") for c in letters) > len(letters) / 2


def visible_words(words: list[RawWord], grey: np.ndarray | None) -> tuple[list[RawWord], int]:
    """The words whose place in the picture shows anything, and how many show nothing (white on white, invisible)."""
    if grey is None:
        return words, 0
    height, width = grey.shape
    kept = []
    for word in words:
        x0, y0, x1, y1 = word.box
        patch = grey[int(y0 * height) : int(np.ceil(y1 * height)) + 1, int(x0 * width) : int(np.ceil(x1 * width)) + 1]
        if patch.size == 0 or int(patch.max()) - int(patch.min()) > FLAT:
            kept.append(word)
    return kept, len(words) - len(kept)


def picture_share(page: pdfium.PdfPage, matrix: np.ndarray) -> tuple[float, list[tuple[float, float, float, float]]]:
    """How much of the displayed page its largest picture covers, and the boxes of all pictures that are large enough to be figures."""
    boxes = []
    for number, item in enumerate(page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3)):
        if number >= 500:
            break
        try:
            left, bottom, right, top = item.get_bounds()
        except pdfium.PdfiumError:
            continue
        x0, y0, x1, y1 = displayed(matrix, left, bottom, right, top)
        x0, y0, x1, y1 = max(0.0, x0), max(0.0, y0), min(1.0, x1), min(1.0, y1)
        if x1 > x0 and y1 > y0:
            boxes.append((x0, y0, x1, y1))
    areas = [(b[2] - b[0]) * (b[3] - b[1]) for b in boxes]
    return max(areas, default=0.0), [b for b, area in zip(boxes, areas, strict=True) if area >= 0.03]
