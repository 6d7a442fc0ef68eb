"""The structure of a page from its lines: headings, paragraphs, lists, tables, captions, figures, running heads. Pure.

Levels of headings come from the size of their letters against the body's, or from their own number ("3.2 Scope" is level 2).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

from ingestion.domain.pages import Block, BlockKind, Box
from ingestion.seams.parser.layout import Line
from ingestion.seams.parser.placed import area, union
from ingestion.seams.parser.tables import table_ranges

CAPTION = re.compile(
    r"(fig(?:ure|\.)?|table|tab\.|chart|exhibit|box|map|graph|scheme|algorithm|listing|abbildung|abb\.|tabelle|tableau|figura|tabla|图|表)"
    r"\s*((?:[A-Z]{1,2}[.\-–]?)?\d{1,3}(?:[.\-–]\d{1,3}){0,3}|[IVX]{1,5})\b(?!\s+(?:shows?|presents?|lists?|gives?|and|in|of|to|is|are)\b)",
    re.IGNORECASE,
)
NAMES = {"fig": "Figure", "fig.": "Figure", "figure": "Figure", "tab.": "Table", "table": "Table", "abb.": "Abbildung"}
TABLE_NAMES = frozenset({"table", "tab.", "tabelle", "tableau", "tabla", "表"})
BULLET = re.compile(r"[•●○◦▪■□►‣∙·\-–—*✓➢❖o]\s|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)]\s")
NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+\S")
PAGE_NUMBER = re.compile(
    r"(?:page\s*|[-–|]\s*)?(?:\d{1,4}|[ivxlc]{1,7}|[A-Z]-?\d{1,3})(?:\s*(?:of|/|\|)\s*\d{1,4})?(?:\s*[-–|])?", re.IGNORECASE
)
MARGIN = 0.07  # of the page's height, where running heads and feet stand
OUTER = 0.045  # nearer to the edge than any body text stands
FURNITURE_WORDS = 14
HEADING_WORDS = 18


def body_size(pages: Sequence[Sequence[Line]]) -> float:
    """The size in points that most characters of the pages have; 0 for no text."""
    weights: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            weights[round(2 * line.size) / 2] += line.end - line.start
    return weights.most_common(1)[0][0] if weights else 0.0


def repeated_margins(pages: Sequence[tuple[str, Sequence[Line]]]) -> frozenset[str]:
    """Lines at the margins that come again on other pages, numbers apart: running heads and feet."""
    counts = Counter(
        key for text, lines in pages for key in {margin_key(text[line.start : line.end]) for line in lines if _in_margin(line, 0.1)}
    )
    return frozenset(key for key, count in counts.items() if key and count >= 3)


def margin_key(text: str) -> str:
    return re.sub(r"\d+", "#", text.strip().lower())


def blocks_of(
    text: str,
    lines: Sequence[Line],
    body: float,
    repeated: Collection[str] = (),
    images: Sequence[Box] = (),
    rules: Sequence[Box] = (),
    larger: float = 1.15,
) -> tuple[Block, ...]:
    """The blocks in reading order, tables and figures labelled by their captions; figures come last, without text.

    A line is a heading where its letters are at least `larger` times the body's.
    """
    tables = table_ranges(lines, rules)
    in_table = {index for first, end in tables for index in range(first, end)}
    kinds: list[BlockKind] = []
    for index in range(len(lines)):
        kind = BlockKind.TABLE if index in in_table else _kind(index, text, lines, body, repeated, larger)
        if kind is BlockKind.HEADING and text[lines[index].start].islower() and (not kinds or kinds[-1] is not kind):
            kind = BlockKind.PARAGRAPH  # the middle of a sentence in larger letters
        kinds.append(kind)
    starts = {first for first, _ in tables}
    blocks: list[Block] = []
    group: list[int] = []
    for index in range(len(lines)):
        if group and not _continues(group[-1], index, text, lines, kinds, starts):
            blocks.append(_block(group, text, lines, kinds, body))
            group = []
        group.append(index)
    if group:
        blocks.append(_block(group, text, lines, kinds, body))
    tables_at = [block.box for block in blocks if block.kind is BlockKind.TABLE]
    figures = [Block(BlockKind.FIGURE, len(text), len(text), box) for box in images if not _mostly_in(box, tables_at)]
    return tuple(_labelled(blocks, figures))


def _kind(index: int, text: str, lines: Sequence[Line], body: float, repeated: Collection[str], larger: float) -> BlockKind:
    line = lines[index]
    content = text[line.start : line.end].strip()
    words = content.count(" ") + 1
    if _is_furniture(line, content, words, body, repeated, lines):
        return BlockKind.FURNITURE
    if CAPTION.match(content) and _starts_something(index, lines):
        return BlockKind.CAPTION
    if words <= HEADING_WORDS and _looks_like_heading(content, index, lines, body, larger):
        return BlockKind.HEADING
    return BlockKind.LIST if BULLET.match(content) else BlockKind.PARAGRAPH


def _is_furniture(line: Line, content: str, words: int, body: float, repeated: Collection[str], lines: Sequence[Line]) -> bool:
    if words > FURNITURE_WORDS or len(lines) < 3:
        return False
    if _in_margin(line, 0.1) and margin_key(content) in repeated:
        return True
    number = bool(PAGE_NUMBER.fullmatch(content))
    if number and line.box[1] >= max(other.box[1] for other in lines) and line.box[1] > 0.5:
        return True  # the last thing on a page that does not fill its paper
    if not _in_margin(line, MARGIN):
        return False
    return number or (_in_margin(line, OUTER) and line.size <= 1.05 * body)


def _in_margin(line: Line, share: float) -> bool:
    return line.box[3] <= share or line.box[1] >= 1 - share


def _starts_something(index: int, lines: Sequence[Line]) -> bool:
    """Whether a line does not go on with the one before: a sentence that happens to break before "Table 2" is no caption."""
    if index == 0:
        return True
    line, before = lines[index], lines[index - 1]
    gap, height = line.box[1] - before.box[3], line.box[3] - line.box[1]
    return gap > 0.35 * height or gap < -height or abs(line.size - before.size) > 0.06 * line.size or line.bold != before.bold


def _looks_like_heading(content: str, index: int, lines: Sequence[Line], body: float, larger: float) -> bool:
    line = lines[index]
    if sum(map(str.isalpha, content)) < 3 or content[-1] in ".,;" or len(line.cells) > 2 or body <= 0:
        return False
    if line.size >= larger * body:
        return True
    alone = index + 1 >= len(lines) or not (
        lines[index + 1].bold and abs(lines[index + 1].size - line.size) < 0.5 and lines[index + 1].end - lines[index + 1].start > 60
    )
    item = bool(BULLET.match(content)) and not NUMBERED.match(content)
    return line.bold and line.size >= 0.95 * body and alone and len(content) <= 120 and not item


def _level(line: Line, content: str, body: float) -> int:
    numbered = NUMBERED.match(content)
    if numbered and line.size < 1.6 * body:
        return min(4, numbered.group(1).count(".") + 1)
    share = line.size / body if body else 1.0
    return 1 if share >= 1.6 else 2 if share >= 1.25 else 3


def _continues(last: int, index: int, text: str, lines: Sequence[Line], kinds: Sequence[BlockKind], table_starts: Collection[int]) -> bool:
    """Whether a line belongs to the block of the line before it."""
    before, line, kind = lines[last], lines[index], kinds[index]
    if kinds[last] is BlockKind.TABLE or kind is BlockKind.TABLE:
        return kinds[last] is kind and index not in table_starts
    gap, height = line.box[1] - before.box[3], min(line.box[3] - line.box[1], before.box[3] - before.box[1])
    close = -0.8 * height <= gap <= 0.75 * height
    same_size = abs(line.size - before.size) <= 0.08 * max(line.size, before.size)
    if kind is BlockKind.HEADING:
        return kinds[last] is kind and close and same_size and line.bold == before.bold and not NUMBERED.match(text[line.start : line.end])
    if kind in (BlockKind.FURNITURE, BlockKind.CAPTION):
        return False
    if kind is BlockKind.LIST:
        return kinds[last] is kind and close
    if kinds[last] in (BlockKind.HEADING, BlockKind.FURNITURE):
        return False
    # an indented line goes on with a list, any close line with a paragraph or a caption
    return close and same_size and (kinds[last] is not BlockKind.LIST or line.box[0] > before.box[0] - 0.005)


def _block(group: list[int], text: str, lines: Sequence[Line], kinds: Sequence[BlockKind], body: float) -> Block:
    first, last = lines[group[0]], lines[group[-1]]
    content = text[first.start : first.end].strip()
    kind = kinds[group[0]]
    level = _level(first, content, body) if kind is BlockKind.HEADING else 0
    label = ""
    if kind is BlockKind.CAPTION and (match := CAPTION.match(content)):
        word = match.group(1).lower()
        label = f"{NAMES.get(word, match.group(1).capitalize())} {match.group(2)}"
    return Block(kind, first.start, last.end, union(lines[i].box for i in group), level, label)


def _labelled(blocks: list[Block], figures: list[Block]) -> list[Block]:
    """Each caption's label given to the nearest table or figure without one, above or below it."""
    captions = [block for block in blocks if block.label]
    result = [*blocks, *figures]
    for caption in captions:
        wanted = BlockKind.TABLE if caption.label.split()[0].lower() in TABLE_NAMES else BlockKind.FIGURE
        near = [
            (_distance(caption.box, block.box), -area(block.box), at)
            for at, block in enumerate(result)
            if block.kind is wanted and not block.label
        ]
        if near and min(near)[0] < 0.12:
            at = min(near)[2]
            block = result[at]
            result[at] = Block(block.kind, block.start, block.end, block.box, block.level, caption.label)
    return result


def _mostly_in(box: Box, places: Sequence[Box]) -> bool:
    """Whether more than half of a box lies in one of the places: the rules and the ground of a table are no figure."""
    return any(
        area((max(box[0], b[0]), max(box[1], b[1]), min(box[2], b[2]), min(box[3], b[3]))) > 0.5 * area(box) for b in places
    )


def _distance(a: Box, b: Box) -> float:
    """Between two boxes, top to bottom; far where one is not over the other."""
    if min(a[2], b[2]) - max(a[0], b[0]) <= 0:
        return 1.0
    return max(0.0, b[1] - a[3], a[1] - b[3])
