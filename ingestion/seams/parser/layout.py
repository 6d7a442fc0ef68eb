"""From placed words to a page's canonical text and its lines. Pure.

The text is the words joined by a space (none where they are glued) and the lines joined by a line break; every offset that
leaves this file is an index into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ingestion.domain.cleaning import PAGE_CHARACTERS
from ingestion.domain.pages import Box, Word
from ingestion.seams.parser.placed import Placed, union

MAX_WORDS = 60_000
CELL_GAP = 1.1  # of the letters' height: a gap that parts cells of a table rather than words


@dataclass(frozen=True, slots=True)
class Cell:
    """Words of a line that stand close together."""

    start: int
    end: int
    box: Box


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the page with its range in the text; `size` in points, `bold` when most of it is."""

    start: int
    end: int
    box: Box
    size: float
    bold: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Composed:
    text: str
    words: tuple[Word, ...]
    lines: tuple[Line, ...]
    cut: bool  # the page held more than is kept


def compose(placed: Sequence[Placed], ratio: float) -> Composed:
    """The canonical text of words in reading order; `ratio` is the page's height by its width."""
    text: list[str] = []
    words: list[Word] = []
    lines: list[Line] = []
    position, members, previous, cut = 0, [], None, False
    for word in placed:
        if not word.text:
            continue
        if position + len(word.text) >= PAGE_CHARACTERS or len(words) >= MAX_WORDS:
            cut = True
            break
        if previous is not None and word.line != previous:
            lines.append(_line(members, ratio))
            members = []
            text.append("\n")
            position += 1
        elif members and not word.glued:
            text.append(" ")
            position += 1
        previous = word.line
        located = Word(position, position + len(word.text), len(lines), word.box)
        words.append(located)
        members.append((word, located))
        text.append(word.text)
        position += len(word.text)
    if members:
        lines.append(_line(members, ratio))
    return Composed("".join(text), tuple(words), tuple(lines), cut)


def _line(members: list[tuple[Placed, Word]], ratio: float) -> Line:
    letters = sum(len(word.text) for word, _ in members)
    bold = sum(len(word.text) for word, _ in members if word.bold) > 0.6 * letters
    box = union(word.box for word, _ in members)
    cells = _cells([located for _, located in members], ratio)
    return Line(members[0][1].start, members[-1][1].end, box, _middle_size(members), bold, cells)


def _middle_size(members: list[tuple[Placed, Word]]) -> float:
    """The size of the letter in the middle when all are ordered by size."""
    left = sum(len(word.text) for word, _ in members) / 2
    ordered = sorted((word.size, len(word.text)) for word, _ in members)
    for size, letters in ordered:
        left -= letters
        if left <= 0:
            return size
    return ordered[-1][0]


def _cells(words: list[Word], ratio: float) -> tuple[Cell, ...]:
    groups = [[words[0]]]
    for before, after in zip(words, words[1:], strict=False):
        height = max(before.box[3] - before.box[1], after.box[3] - after.box[1]) * ratio
        if after.box[0] - before.box[2] > CELL_GAP * height:
            groups.append([])
        groups[-1].append(after)
    return tuple(Cell(group[0].start, group[-1].end, union(word.box for word in group)) for group in groups)
