"""What the drawn page tells about its text: which words show, and how much of the page is pictures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from PIL import Image

from ingestion.domain.pages import Box
from ingestion.seams.parser.placed import Placed

SHOWS = 14  # levels of one colour channel that a word's surroundings span at least where it is to be seen
MARGIN = 0.25  # of a word's height around it, so that a sign that fills its box is still seen against its ground
GRID = 48  # cells a side for measuring how much of a page is covered
FAINT = 40  # levels up to which a word is hard to see for a person, and as plain as any other for a program
TINY, TINY_CHARACTERS = 3.0, 12  # points; characters
LINE_WORDS = 3
FLAT = 6  # levels that an empty page may span, as drawn


class Picture:
    """A drawn page for looking at places of it. The picture itself is trusted: it was drawn here."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with Image.open(path) as image:
            image.draft("L", image.size)  # decodes brightness alone, which tells nearly always
            self.grey = np.asarray(image.convert("L"))
        self.height, self.width = self.grey.shape

    @cached_property
    def rgb(self) -> np.ndarray:
        """The colours, for what is of one brightness."""
        with Image.open(self.path) as image:
            return np.asarray(image.convert("RGB"))

    @cached_property
    def blank(self) -> bool:
        """One colour all over."""
        if int(self.grey.max()) - int(self.grey.min()) > FLAT:
            return False
        return bool((np.ptp(self.rgb.reshape(-1, 3), axis=0) <= FLAT).all())

    def span(self, box: Box) -> int:
        """Levels of one colour channel that a place and its near surroundings span; 255 where it cannot be looked at."""
        x0, y0, x1, y1 = box
        margin = max(1.0, MARGIN * (y1 - y0) * self.height)
        top, bottom = int(max(0.0, y0 * self.height - margin)), int(y1 * self.height + margin) + 1
        left, right = int(max(0.0, x0 * self.width - margin)), int(x1 * self.width + margin) + 1
        patch = self.grey[top:bottom, left:right]
        if patch.size == 0:
            return 255
        levels = int(patch.max()) - int(patch.min())
        if levels > FAINT:
            return levels
        colours = self.rgb[top:bottom, left:right].reshape(-1, 3)
        return max(levels, int(np.ptp(colours, axis=0).max()))

    def shows(self, box: Box) -> bool:
        """Whether there is anything to be seen at a place."""
        return self.span(box) > SHOWS


def shown(words: Sequence[Placed], picture: Picture | None, images: Sequence[Box]) -> tuple[list[Placed], int]:
    """The words that a reader of the page can see, and how many were hidden.

    Hidden is what the picture does not show (white on white, covered), and invisible text that does not lie over an
    image: over one it is the layer of an OCR program.
    """
    kept = []
    for word in words:
        if word.invisible and not _lies_over(word.box, images):
            continue
        if picture is None or word.unjudgeable or picture.shows(word.box):
            kept.append(word)
    return kept, len(words) - len(kept)


def _lies_over(box: Box, images: Sequence[Box]) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return any(x0 <= x <= x1 and y0 <= y <= y1 for x0, y0, x1, y1 in images)


def covered(boxes: Sequence[Box]) -> float:
    """Share of the page that lies under at least one of the boxes, to the grid's precision."""
    cells = np.zeros((GRID, GRID), dtype=bool)
    for box in boxes:
        left, top, right, bottom = (round(side * GRID) for side in box)
        cells[top : max(top + 1, bottom), left : max(left + 1, right)] = True
    return float(cells.mean())


def faint(words: Sequence[Placed], picture: Picture | None) -> bool:
    """Whether words that show are hard to see: a person may overlook what a program reads."""
    if picture is None:
        return False
    return any(not word.unjudgeable and not word.invisible and picture.span(word.box) <= FAINT for word in words)


def tiny(words: Sequence[Placed]) -> bool:
    """Whether letters stand on the page that are too small for a person to read, and more than a mark or two."""
    return sum(len(word.text) for word in words if 0 < word.size < TINY) >= TINY_CHARACTERS


def layer_differs(layer: Sequence[Placed], seen: Sequence[Placed]) -> bool:
    """Whether a line of the invisible layer says what the picture does not: of its long words the most were not `seen` there.

    Recognition errs in letters, so a line differs only where most of at least `LINE_WORDS` long words are missing.
    """
    squeezed = _letters("".join(word.text for word in seen))
    lines: dict[int, list[str]] = {}
    for word in layer:
        letters = _letters(word.text)
        if word.invisible and len(letters) >= 4:
            lines.setdefault(word.line, []).append(letters)
    return any(
        len(words) >= LINE_WORDS and sum(word not in squeezed for word in words) > 0.6 * len(words) for words in lines.values()
    )


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
