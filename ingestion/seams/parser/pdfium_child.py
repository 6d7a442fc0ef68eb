"""Reading pages inside the parsing process: the text layer where it is usable, the picture where it is not. JSON in, JSON out."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pypdfium2 as pdfium
from PIL import Image

from ingestion.domain.cleaning import MAX_PAGE_CHARACTERS, garbage_share, placeholder_ranges
from ingestion.domain.pages import TextSource
from ingestion.seams.parser.layout import blocks_of, compose
from ingestion.seams.parser.pdfium_words import (
    RawWord,
    needs_missing_font,
    picture_share,
    transformation,
    visible_words,
    within_page,
    words_of,
)
from ingestion.seams.renderer.pdfium_child import FLAT
from ingestion.seams.renderer.pdfium_open import opened

GARBAGE = 0.3  # share of meaningless characters above which a layer is not usable
SCAN_SHARE = 0.55  # a picture over this much of the page makes it a scan ...
SCAN_WORDS = 60  # ... if its layer says so little: a stamp or a running head over a scan


def read(path: str, password: str | None, pages: list[int], images: dict[str, str], ocr: bool) -> list[dict[str, Any]]:
    with opened(path, password) as document:
        return [_read(document.pdf, number, images.get(str(number)), ocr) for number in pages]


def _read(pdf: pdfium.PdfDocument, number: int, image: str | None, ocr: bool) -> dict[str, Any]:
    warnings: list[str] = []
    grey = _grey(image)
    blank = grey is not None and int(grey.max()) - int(grey.min()) <= FLAT
    try:
        with contextlib.closing(pdf[number - 1]) as page:
            height = page.get_size()[1]
            matrix = transformation(page)
            words, raw_text = words_of(page)
            scan, figures = picture_share(page, matrix)
    except pdfium.PdfiumError:
        return _page(number, [], [], TextSource.NONE, ["page_not_readable"])
    words, outside = within_page(words)
    if blank and words and needs_missing_font(words):
        hidden = 0
        warnings.append("text_not_drawn_for_want_of_a_font")
    else:
        words, hidden = visible_words(words, grey)
    warnings += ["text_outside_the_page_dropped"] * bool(outside) + ["hidden_text_dropped"] * bool(hidden)
    source = TextSource.LAYER
    if _wants_ocr(words, raw_text, scan, blank, image, warnings):
        if ocr and image is not None:
            from ingestion.seams.parser.ocr import read_picture

            found, turned = read_picture(image, height)
            warnings += [f"text_turned_by_{turned}"] * bool(turned)
            if found or "unusable_text_layer" in warnings:
                words, source, figures = found, TextSource.OCR, []
        elif "unusable_text_layer" in warnings:
            words = []
    if not words:
        source = TextSource.NONE
        warnings += [] if blank else ["no_text_found"]
    return _page(number, words, figures, source, warnings)


def _grey(image: str | None) -> np.ndarray | None:
    if image is None:
        return None
    with Image.open(image) as picture:
        return np.asarray(picture.convert("L"))


def _wants_ocr(words: list[RawWord], raw_text: str, scan: float, blank: bool, image: str | None, warnings: list[str]) -> bool:
    """Few characters alone make no OCR work: only no text at all, a layer that makes no sense, or a scan with a stamp on it."""
    if image is None or blank:
        return False
    if words and garbage_share(raw_text) > GARBAGE:
        warnings.append("unusable_text_layer")
        return True
    return not words or (scan >= SCAN_SHARE and len(words) < SCAN_WORDS)


def _page(number: int, words: list[RawWord], figures: list, source: TextSource, warnings: list[str]) -> dict[str, Any]:
    text, rows, lines = compose(words)
    if len(text) > MAX_PAGE_CHARACTERS:
        rows = [row for row in rows if row[1] <= MAX_PAGE_CHARACTERS]
        lines = [line for line in lines if line.end <= MAX_PAGE_CHARACTERS]
        text = text[: rows[-1][1] if rows else 0]
        warnings.append("text_cut")
    for start, end in placeholder_ranges(text):  # same length, so that every place stays right
        text = text[:start] + " " * (end - start) + text[end:]
    return {
        "number": number,
        "text": text,
        "source": source.value,
        "words": rows,
        "blocks": blocks_of(text, lines, figures),
        "warnings": list(dict.fromkeys(warnings)),
    }
