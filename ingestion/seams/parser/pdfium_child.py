"""Reading pages in the parsing process: the text layer where it can be used, the picture where it cannot. JSON values."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw

from ingestion.domain.pages import Box, TextSource
from ingestion.seams.parser.layout import Composed, compose
from ingestion.seams.parser.ocr import OcrSettings, read_picture
from ingestion.seams.parser.pdfium_layer import Frame, Layer, frame_of, layer_of
from ingestion.seams.parser.pdfium_objects import FIGURE_AREA, Graphics, graphics_of, has_drawn_annotations
from ingestion.seams.parser.picture import Picture, covered, faint, layer_differs, shown, tiny
from ingestion.seams.parser.placed import Placed, area
from ingestion.seams.renderer.pdfium_open import opened

MEANINGLESS = 0.3  # share of a layer's characters without a meaning, above which the layer is not used
SCAN = 0.6  # share of the page under images, above which it is a scan or a slide drawn as one picture ...
STAMP_AREA, STAMP_CHARACTERS = 0.08, 250  # ... if its layer covers this little and says this little
MAX_RULES = 300
PROSE_LINE = 40  # characters of a line that is no label of a chart
FIGURE_MOST = 0.95  # an image that is the whole page is its ground or the scan itself


@dataclass(slots=True)
class _Page:
    """A page that was read, its blocks still to be told."""

    number: int
    source: TextSource = TextSource.NONE
    composed: Composed = field(default_factory=lambda: Composed("", (), (), False))
    figures: tuple[Box, ...] = ()
    rules: tuple[Box, ...] = ()
    warnings: list[str] = field(default_factory=list)


def read(path: str, password: str | None, pages: list[int], images: dict[str, str], ocr: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """One value for each page asked, as a `ReadPage`.

    `ocr` holds the fields of `OcrSettings`, or is None when pictures are not to be read. Blocks are not told here: running
    heads and the size of body text show only in several pages together.
    """
    settings = OcrSettings(**ocr) if ocr is not None else None
    with opened(path, password) as document:
        yield {}  # it opened: what goes wrong from here on is a page's fault
        for number in pages:
            yield _told(_read(document.pdf, number, images.get(str(number)), settings))


def _told(page: _Page) -> dict[str, Any]:
    composed = page.composed
    return {
        "number": page.number,
        "text": composed.text,
        "source": page.source.value,
        "words": [[w.start, w.end, w.line, *_rounded(w.box)] for w in composed.words],
        "lines": [
            [line.start, line.end, _rounded(line.box), line.size, line.bold, [[c.start, c.end, _rounded(c.box)] for c in line.cells]]
            for line in composed.lines
        ],
        "figures": [_rounded(box) for box in page.figures],
        "rules": [_rounded(box) for box in page.rules[:MAX_RULES]],
        "warnings": list(dict.fromkeys(page.warnings)),
    }


def _rounded(box: Box) -> list[float]:
    return [round(side, 5) for side in box]


def _read(pdf: pdfium.PdfDocument, number: int, image: str | None, ocr: OcrSettings | None) -> _Page:
    result = _Page(number)
    picture = Picture(Path(image)) if image is not None else None
    try:
        with _loaded(pdf, number - 1) as page:
            frame = frame_of(page)
            layer, graphics = layer_of(page, frame), graphics_of(page, frame)
    except (pdfium.PdfiumError, ValueError):
        result.warnings.append("page_not_readable")
        return result
    words, hidden = shown(layer.words, picture, graphics.images)
    warnings = result.warnings
    warnings += ["text_outside_the_page_dropped"] * bool(layer.outside) + ["hidden_text_dropped"] * bool(hidden)
    warnings += ["invisible_text_layer"] * any(word.invisible for word in words)
    warnings += ["faint_text"] * faint(words, picture) + ["tiny_text"] * tiny(words)
    warnings += ["text_not_drawn_for_want_of_a_font"] * any(word.unjudgeable for word in words)
    usable = _usable(layer, words)
    if not usable and words:
        warnings.append("unusable_text_layer")
    figures: tuple[Box, ...] = ()
    source = TextSource.LAYER
    if picture is not None and not picture.blank and (not usable or _is_scan(words, graphics)):
        assert image is not None
        words, source = _from_picture(words if usable else [], image, frame, ocr, warnings)
    elif not usable:
        words = []
    elif picture is not None and ocr is not None and any(word.invisible for word in words):
        seen, _ = read_picture(picture.path, frame.displayed_height, ocr)
        warnings += ["text_layer_differs_from_picture"] * layer_differs(words, seen)
    if source is TextSource.LAYER:
        figures = graphics.images
    result.composed = compose(words, frame.displayed_height / frame.displayed_width)
    if source is TextSource.LAYER:
        figures += tuple(box for box in graphics.drawings if not _is_ground(box, result.composed))
    figures = tuple(box for box in figures if FIGURE_AREA <= area(box) <= FIGURE_MOST)
    result.source = source if words else TextSource.NONE
    result.figures, result.rules = _distinct(figures), graphics.rules
    if not words and not (picture is not None and picture.blank):
        warnings.append("no_text_found")
    if result.composed.cut:
        warnings.append("text_cut")
    return result


@contextlib.contextmanager
def _loaded(pdf: pdfium.PdfDocument, index: int) -> Iterator[pdfium.PdfPage]:
    """The page, with what its form fields and stamps show made part of its text."""
    if not 0 <= index < len(pdf):
        raise ValueError("no such page")
    page = pdf[index]
    try:
        if has_drawn_annotations(page) and raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY) == raw.FLATTEN_SUCCESS:
            page.close()
            page = pdf[index]
        yield page
    finally:
        page.close()


def _usable(layer: Layer, words: list[Placed]) -> bool:
    """Few words are as good as many; none, or characters that mean nothing, are no layer."""
    if not words or layer.meaningless > MEANINGLESS:
        return False
    if layer.characters > 40:
        return True
    # a font without a map gives a handful of signs in which no two letters or digits stand together
    return any(sum(map(str.isalnum, word.text)) >= 2 or word.text.isalnum() or word.glued for word in words)


def _is_scan(words: list[Placed], graphics: Graphics) -> bool:
    """Whether the page is a picture with a stamp, a running head or a slide's number on it."""
    if sum(len(word.text) for word in words) > STAMP_CHARACTERS or any(word.invisible for word in words):
        return False
    return covered(graphics.images) >= SCAN and covered([word.box for word in words]) <= STAMP_AREA


def _from_picture(
    words: list[Placed], image: str, frame: Frame, ocr: OcrSettings | None, warnings: list[str]
) -> tuple[list[Placed], TextSource]:
    """The picture's words in place of the layer's, which it shows as well; the layer's where the picture gives less."""
    if ocr is None:
        warnings.append("picture_not_read")
        return words, TextSource.LAYER
    seen, turned = read_picture(Path(image), frame.displayed_height, ocr)
    if sum(len(word.text) for word in seen) < sum(len(word.text) for word in words):
        return words, TextSource.LAYER
    if turned:
        warnings.append(f"text_turned_by_{turned}")
    return seen, TextSource.OCR


def _is_ground(box: Box, composed: Composed) -> bool:
    """Whether a drawing is a frame or a shade under prose rather than a figure."""
    x0, y0, x1, y1 = box
    prose = [line.box for line in composed.lines if line.end - line.start > PROSE_LINE]
    return sum(x0 <= (b[0] + b[2]) / 2 <= x1 and y0 <= (b[1] + b[3]) / 2 <= y1 for b in prose) >= 3


def _distinct(boxes: tuple[Box, ...]) -> tuple[Box, ...]:
    """The boxes that do not lie within a larger one, at most 40."""
    kept: list[Box] = []
    for box in sorted(boxes, key=area, reverse=True):
        inside = any(k[0] - 0.01 <= box[0] and k[1] - 0.01 <= box[1] and box[2] <= k[2] + 0.01 and box[3] <= k[3] + 0.01 for k in kept)
        if not inside:
            kept.append(box)
    return tuple(kept[:40])
