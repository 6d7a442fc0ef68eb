"""From words to the canonical text of a page and its blocks: headings, paragraphs, lists, tables, captions, running heads. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from ingestion.domain.pages import BlockKind

Box = tuple[float, float, float, float]

_CAPTION = re.compile(r"^\W*((?:Figure|Fig\.?|Table|Chart|Exhibit|Abbildung|Tabelle)\s*\d+(?:[.\-]\d+)*)", re.IGNORECASE)
_LIST = re.compile(r"^\s*(?:[•▪◦‣·*–-]|\(?\d{1,2}[.)]|\(?[a-z][.)])\s+")
_SENTENCE_END = re.compile(r"[.!?;,]$")


@dataclass(slots=True)
class Line:
    """Words of one line: `words` are indices into the page's words."""

    words: list[int]
    start: int
    end: int
    box: Box
    size: float
    bold: bool
    cells: int


def compose(words: Sequence[Any]) -> tuple[str, list[list[Any]], list[Line]]:
    """The canonical text (a space between words, a newline between lines), word rows [start, end, line, x0, y0, x1, y1], lines."""
    pieces: list[str] = []
    rows: list[list[Any]] = []
    lines: list[Line] = []
    position, line_number, current = 0, -1, object()
    for index, word in enumerate(words):
        if word.line != current:
            if pieces:
                pieces.append("\n")
                position += 1
            current = word.line
            line_number += 1
            lines.append(Line([], position, position, word.box, word.size, word.bold, 1))
        else:
            pieces.append(" ")
            position += 1
        rows.append([position, position + len(word.text), line_number, *word.box])
        pieces.append(word.text)
        position += len(word.text)
        lines[-1].words.append(index)
        lines[-1].end = position
    for line in lines:
        _measure(line, words)
    return "".join(pieces), rows, lines


def _measure(line: Line, words: Sequence[Any]) -> None:
    own = [words[index] for index in line.words]
    line.box = _union([word.box for word in own])
    line.size = median(word.size for word in own)
    line.bold = sum(len(word.text) for word in own if word.bold) > sum(len(word.text) for word in own) / 2
    width = median((word.box[2] - word.box[0]) / max(1, len(word.text)) for word in own)
    gaps = [b.box[0] - a.box[2] for a, b in zip(own, own[1:], strict=False)]
    line.cells = 1 + sum(gap > max(2.5 * width, 0.012) for gap in gaps)


def _union(boxes: Sequence[Box]) -> Box:
    return min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes)


def blocks_of(text: str, lines: Sequence[Line], figures: Sequence[Box]) -> list[list[Any]]:
    """Rows [kind, start, end, box, level, label], in reading order; figures last, with an empty range."""
    body = _body_size(lines)
    kinds = [_kind(line, text, body, lines) for line in lines]
    _mark_tables(lines, kinds)
    blocks: list[list[Any]] = []
    index = 0
    while index < len(lines):
        last = index
        while last + 1 < len(lines) and _belong_together(lines, kinds, last, text):
            last += 1
        group, kind = lines[index : last + 1], kinds[index]
        own = text[group[0].start : group[-1].end]
        label = ""
        if kind is BlockKind.CAPTION:
            match = _CAPTION.match(own)
            label = " ".join(match.group(1).split()) if match else ""
        level = _level(group[0], body) if kind is BlockKind.HEADING else 0
        blocks.append([kind.value, group[0].start, group[-1].end, list(_union([line.box for line in group])), level, label])
        index = last + 1
    blocks.extend([BlockKind.FIGURE.value, 0, 0, list(box), 0, ""] for box in figures)
    return blocks


def _body_size(lines: Sequence[Line]) -> float:
    weighted = sorted((line.size, line.end - line.start) for line in lines)
    half, seen = sum(weight for _, weight in weighted) / 2, 0
    for size, weight in weighted:
        seen += weight
        if seen >= half:
            return size
    return 0.0


def _kind(line: Line, text: str, body: float, lines: Sequence[Line]) -> BlockKind:
    own = text[line.start : line.end].strip()
    words = len(own.split())
    margin = line.box[3] < 0.055 or line.box[1] > 0.945
    if margin and words <= 14 and len(lines) > 6:
        return BlockKind.FURNITURE
    if _CAPTION.match(own) and words <= 40:
        return BlockKind.CAPTION
    has_letters = sum(c.isalpha() for c in own) >= 3
    larger = body > 0 and line.size >= 1.15 * body
    if has_letters and words <= 16 and line.cells == 1 and not _SENTENCE_END.search(own) and (larger or (line.bold and words <= 12)):
        return BlockKind.HEADING
    return BlockKind.LIST if _LIST.match(own) else BlockKind.PARAGRAPH


def _level(line: Line, body: float) -> int:
    ratio = line.size / body if body else 1.0
    return 1 if ratio >= 1.6 else 2 if ratio >= 1.25 else 3


def _mark_tables(lines: Sequence[Line], kinds: list[BlockKind]) -> None:
    """Three lines or more in a row that fall into cells are a table; a single line between two such rows belongs to it."""
    free = (BlockKind.PARAGRAPH, BlockKind.LIST)
    index = 0
    while index < len(lines):
        if kinds[index] not in free or lines[index].cells < 2:
            index += 1
            continue
        last, rows = index, 1
        for following in range(index + 1, len(lines)):
            if kinds[following] not in free or following - last > 2:
                break
            if lines[following].cells >= 2:
                last, rows = following, rows + 1
        if rows >= 3:
            kinds[index : last + 1] = [BlockKind.TABLE] * (last + 1 - index)
        index = last + 1


def _belong_together(lines: Sequence[Line], kinds: Sequence[BlockKind], index: int, text: str) -> bool:
    """Whether the line after `index` goes on with its block."""
    before, after = lines[index], lines[index + 1]
    first, second = kinds[index], kinds[index + 1]
    if first is BlockKind.TABLE or second is BlockKind.TABLE:
        return first is second
    if first is BlockKind.FURNITURE or second is BlockKind.FURNITURE:
        return False
    height = before.box[3] - before.box[1]
    near = -0.5 * height <= after.box[1] - before.box[3] <= 0.8 * height
    if first is BlockKind.HEADING or second is BlockKind.HEADING:
        return first is second and near and abs(before.size - after.size) < 0.05 * before.size and before.bold == after.bold
    if second in (BlockKind.CAPTION, BlockKind.LIST):
        return False
    return near and abs(before.size - after.size) < 0.15 * before.size
