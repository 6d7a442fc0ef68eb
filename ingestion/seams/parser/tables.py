"""Which lines of a page are rows of a table: cells that stand under each other, three rows or more. Pure and cheap."""

from __future__ import annotations

from collections.abc import Sequence

from ingestion.domain.pages import Box
from ingestion.seams.parser.layout import Cell, Line

LEAST_ROWS = 3
ALIGNED = 0.012  # of the page's width
LONG_CELL = 70  # characters: text of this length beside more such text is two columns of prose
HEAD_HEIGHT = 0.06  # of the page
SINGLE_BETWEEN = 2  # lines of one cell that may stand between two rows: a label that wraps, a sub-heading


def table_ranges(lines: Sequence[Line], rules: Sequence[Box]) -> list[tuple[int, int]]:
    """Half-open ranges of lines that make up tables, in order."""
    rows = _rows(lines)
    found: list[tuple[int, int]] = []
    index = 0
    while index < len(rows):
        if len(rows[index][2]) < 2:
            index += 1
            continue
        last, several, gap = index, 1, 0
        for following in range(index + 1, len(rows)):
            cells = rows[following][2]
            if not _near(rows[following - 1], rows[following]):
                break
            if len(cells) >= 2 and _aligned(rows[last][2], cells):
                last, several, gap = following, several + 1, 0
                continue
            gap += 1
            if gap > SINGLE_BETWEEN or len(cells) >= 2:
                break
        between = rows[index : last + 1]
        if several >= (2 if _ruled(between, rules) else LEAST_ROWS) and not _prose(between):
            found.append((_head(lines, between[0][0]), between[-1][1]))
        index = last + 1
    return found


def _head(lines: Sequence[Line], first: int) -> int:
    """Where a table begins with the cells of its head, which text gives one below the other: lines side by side above it."""
    start, top = first, lines[first].box[1]
    for index in range(first - 1, max(-1, first - 25), -1):
        box = lines[index].box
        neighbours = [lines[other].box for other in range(max(0, index - 6), min(first, index + 7)) if other != index]
        beside = any(min(box[3], b[3]) > max(box[1], b[1]) and _apart(box, b) for b in neighbours)
        if not (top - HEAD_HEIGHT <= box[1] and box[3] <= top + 0.005):
            break
        if beside:
            start = index
        elif start - index > 2:
            break
    return start


def _apart(a: Box, b: Box) -> bool:
    return a[2] <= b[0] or b[2] <= a[0]


def _rows(lines: Sequence[Line]) -> list[tuple[int, int, list[Cell], Box]]:
    """(first line, end, cells, box) of what stands at one height; lines of the text that follow each other only."""
    rows: list[tuple[int, int, list[Cell], Box]] = []
    for index, line in enumerate(lines):
        if rows:
            first, _, cells, box = rows[-1]
            common = min(box[3], line.box[3]) - max(box[1], line.box[1])
            if common > 0.5 * min(box[3] - box[1], line.box[3] - line.box[1]) and line.box[0] >= box[2]:
                rows[-1] = (first, index + 1, [*cells, *line.cells], _around(box, line.box))
                continue
        rows.append((index, index + 1, list(line.cells), line.box))
    return rows


def _around(a: Box, b: Box) -> Box:
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])


def _near(above: tuple[int, int, list[Cell], Box], below: tuple[int, int, list[Cell], Box]) -> bool:
    height = max(above[3][3] - above[3][1], 0.008)
    return -height <= below[3][1] - above[3][3] <= 3 * height


def _aligned(above: Sequence[Cell], below: Sequence[Cell]) -> bool:
    """Whether a cell after the first stands under one of the row above, at its left side, its right side or its middle."""
    return any(
        abs(a.box[0] - b.box[0]) < ALIGNED
        or abs(a.box[2] - b.box[2]) < ALIGNED
        or abs((a.box[0] + a.box[2]) - (b.box[0] + b.box[2])) < 2 * ALIGNED
        for b in below[1:]
        for a in above[1:]
    )


def _prose(rows: Sequence[tuple[int, int, list[Cell], Box]]) -> bool:
    """Whether most rows hold two or more long texts: columns of prose side by side."""
    long = sum(sum(cell.end - cell.start > LONG_CELL for cell in cells) >= 2 for _, _, cells, _ in rows)
    return 2 * long > len(rows)


def _ruled(rows: Sequence[tuple[int, int, list[Cell], Box]], rules: Sequence[Box]) -> bool:
    """Whether two horizontal rules or more lie along the rows."""
    top, bottom = rows[0][3][1] - 0.02, rows[-1][3][3] + 0.02
    return sum(top <= rule[1] <= bottom and rule[2] - rule[0] > 0.2 for rule in rules) >= 2
