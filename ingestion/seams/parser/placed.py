"""The parser's own words and lines, before they become a page's canonical text. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from ingestion.domain.pages import Box


@dataclass(slots=True)
class Placed:
    """A word with its place: fractions of the displayed page, origin top left. `size` is the letters' height in points."""

    text: str
    box: Box
    line: int  # equal for words of one line
    size: float
    glued: bool = False  # no space before it (the next letter of a script without spaces, an index at its base)
    bold: bool = False
    invisible: bool = False  # text render mode 3: the layer of an OCR program, or hidden text
    unjudgeable: bool = False  # its font is not at hand, so a picture cannot tell whether it is to be seen


def union(boxes: Iterable[Box]) -> Box:
    """The smallest box around all; ValueError for none."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)


def clamped(box: Box) -> Box:
    """The part of a box that lies on the page."""
    x0, y0, x1, y1 = (min(1.0, max(0.0, side)) for side in box)
    return x0, y0, x1, y1


def area(box: Box) -> float:
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


@cache
def is_right_to_left(character: str) -> bool:
    return unicodedata.bidirectional(character) in ("R", "AL")


@cache
def writes_without_spaces(character: str) -> bool:
    """Han, kana, Thai and the like: each letter becomes a word of its own, so that a quote marks no more than it says."""
    code = ord(character)
    return 0x2E80 <= code <= 0x9FFF or 0xF900 <= code <= 0xFAFF or 0x20000 <= code <= 0x3FFFF or 0x0E00 <= code <= 0x0EFF


def in_reading_order(words: list[Placed]) -> list[Placed]:
    """Words of right-to-left scripts as they are read, where they were given as they stand from left to right."""
    ordered: list[Placed] = []
    run: list[Placed] = []
    for word in [*words, None]:
        if word is not None and any(map(is_right_to_left, word.text)) and (not run or word.line == run[-1].line):
            run.append(word)
            continue
        climbs = len(run) > 1 and run[0].box[0] < run[-1].box[0]
        ordered.extend(reversed(run) if climbs else run)
        run = []
        if word is not None:
            (run if any(map(is_right_to_left, word.text)) else ordered).append(word)
    return ordered
