"""Cutting a page into the spans that may be quoted: sentences, table rows, list items, short lines. Each is one range of the page's text.

Where the page's blocks are known they decide; what no block covers is cut by its line breaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ingestion.domain.pages import Block, BlockKind

MAX_SPAN = 420  # characters; a longer sentence is cut at a line break or a semicolon
_END = re.compile(r"[.!?][\"'”’)\]]*(?=\s+[\"'“‘(\[]?[A-Z0-9])|\n\s*\n")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|Nos|Fig|Figs|Eq|vs|etc|e\.g|i\.e|cf|al|Inc|Ltd|Co|Corp|approx|p|pp|Sec|Art|Vol)|\b[A-Z])\.$"
)
_BULLET = re.compile(r"^\s*(?:[•●▪◦‣\-–*·➢✓]|\(?\d{1,2}[.)]|\(?[a-z][.)])\s+")
_NUMBER = re.compile(r"\d")


class SpanKind(StrEnum):
    SENTENCE = "sentence"
    ROW = "row"
    ITEM = "item"
    LINE = "line"
    HEADING = "heading"
    CAPTION = "caption"


@dataclass(frozen=True, slots=True)
class Span:
    """`context` is what stands over the span and gives it its subject (headings, caption, header row); `before` is the span before it.

    `header` is the range of a table's header row, where the span is a row below one.
    """

    start: int
    end: int
    kind: SpanKind
    context: str = ""
    before: str = ""
    header: tuple[int, int] | None = None


def spans_of(text: str, blocks: Sequence[Block]) -> list[Span]:
    """Spans in reading order; white space at their ends is left out; running heads and feet are not quoted."""
    spans: list[Span] = []
    heading, caption = "", ""
    for start, end, block in _regions(text, blocks):
        if block is None:
            spans += _of_lines(text, start, end, heading)
            continue
        if block.kind is BlockKind.HEADING:
            heading = _flat(text[start:end])
            spans += [Span(*r, SpanKind.HEADING) for r in _trimmed(text, start, end)]
        elif block.kind is BlockKind.CAPTION:
            caption = _flat(text[start:end])
            spans += [Span(s, e, SpanKind.CAPTION, heading) for s, e in _sentences(text, start, end)]
        elif block.kind is BlockKind.TABLE:
            spans += _of_table(text, start, end, _flat(f"{heading} {caption} {block.label}"))
        elif block.kind is BlockKind.LIST:
            spans += [Span(s, e, SpanKind.ITEM, heading) for s, e in _items(text, start, end)]
        elif block.kind is BlockKind.PARAGRAPH:
            spans += [Span(s, e, SpanKind.SENTENCE, heading) for s, e in _sentences(text, start, end)]
        elif block.kind is BlockKind.FIGURE:
            spans += _of_lines(text, start, end, _flat(f"{heading} {caption} {block.label}"))
    return _with_before(text, spans)


def _with_before(text: str, spans: list[Span]) -> list[Span]:
    result = []
    for index, span in enumerate(spans):
        last = spans[index - 1] if index else None
        before = _flat(text[last.start : last.end]) if last and span.start - last.end < 40 else ""
        result.append(Span(span.start, span.end, span.kind, span.context, before, span.header))
    return result


def _regions(text: str, blocks: Sequence[Block]) -> Iterator[tuple[int, int, Block | None]]:
    """The text in order, as ranges of blocks and of what lies between them; an inner block of another is passed over."""
    at = 0
    for block in sorted((b for b in blocks if b.end > b.start), key=lambda b: (b.start, -b.end)):
        if block.start < at:
            continue
        if text[at : block.start].strip():
            yield at, block.start, None
        if block.kind is not BlockKind.FURNITURE:
            yield block.start, block.end, block
        at = block.end
    if text[at:].strip():
        yield at, len(text), None


def _trimmed(text: str, start: int, end: int) -> list[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return [(start, end)] if end > start else []


def _sentences(text: str, start: int, end: int) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    at = start
    for match in _END.finditer(text, start, end):
        if match.group()[0] == "." and _ABBREVIATION.search(text[max(at, match.start() - 8) : match.start() + 1]):
            continue
        ranges += _bounded(text, at, match.end())
        at = match.end()
    return ranges + _bounded(text, at, end)


def _bounded(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The range, cut where it is longer than a quote may be."""
    trimmed = _trimmed(text, start, end)
    if not trimmed:
        return []
    start, end = trimmed[0]
    if end - start <= MAX_SPAN:
        return [(start, end)]
    cut = max(text.rfind(mark, start + MAX_SPAN // 3, start + MAX_SPAN) for mark in ("\n", "; ", " "))
    cut = cut if cut > start else start + MAX_SPAN
    return _trimmed(text, start, cut + 1) + _bounded(text, cut + 1, end)


def _line_ranges(text: str, start: int, end: int) -> list[tuple[int, int]]:
    ranges, at = [], start
    for line in text[start:end].splitlines(keepends=True):
        ranges += _trimmed(text, at, at + len(line))
        at += len(line)
    return ranges


def _items(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """List items: a line that begins with a bullet or a number opens one, other lines go on with it."""
    groups: list[tuple[int, int]] = []
    for line_start, line_end in _line_ranges(text, start, end):
        if groups and not _BULLET.match(text[line_start:line_end]):
            groups[-1] = (groups[-1][0], line_end)
        else:
            groups.append((line_start, line_end))
    return [piece for group in groups for piece in (_bounded(text, *group) if group[1] - group[0] > MAX_SPAN else [group])]


def _of_table(text: str, start: int, end: int, context: str) -> list[Span]:
    rows = _line_ranges(text, start, end)
    if not rows:
        return []
    header = rows[0]
    own = f"{context} {_flat(text[header[0] : header[1]])}".strip()
    spans = [Span(*header, SpanKind.ROW, context)]
    label = ""
    for row_start, row_end in rows[1:]:
        row = text[row_start:row_end]
        if not _NUMBER.search(row) and len(row.split()) <= 6:
            label = _flat(row)  # a row of words alone titles the rows below it
        spans.append(Span(row_start, row_end, SpanKind.ROW, f"{own} {label}".strip(), header=header))
    return spans


def _of_lines(text: str, start: int, end: int, context: str) -> list[Span]:
    """Runs of full lines are prose and give sentences; a short line stands by itself."""
    lines = _line_ranges(text, start, end)
    if not lines:
        return []
    lengths = sorted(e - s for s, e in lines)
    full = max(lengths[int(len(lengths) * 0.9)] * 0.6, 30)
    spans: list[Span] = []
    heading = context
    run: list[tuple[int, int]] = []

    def close() -> None:
        if run:
            kind = SpanKind.SENTENCE if len(run) > 1 or run[0][1] - run[0][0] >= full else SpanKind.LINE
            spans.extend(Span(s, e, kind, heading) for s, e in _sentences(text, run[0][0], run[-1][1]))
            run.clear()

    for index, (line_start, line_end) in enumerate(lines):
        line = text[line_start:line_end]
        gap = bool(run) and text[run[-1][1] : line_start].count("\n") > 1
        if gap or _BULLET.match(line) or _row_like(line):
            close()
        if _row_like(line):
            spans.append(Span(line_start, line_end, SpanKind.ROW, heading))
            continue
        short = line_end - line_start < full
        if short and not run and not line.endswith((".", ",", ";")) and index + 1 < len(lines):
            spans.append(Span(line_start, line_end, SpanKind.LINE, heading))
            heading = f"{context} {_flat(line)}".strip()
            continue
        run.append((line_start, line_end))
        if short:
            close()
    close()
    return spans


def _row_like(line: str) -> bool:
    """Several numbers and few other words: a row of a table that nobody marked as one."""
    parts = line.split()
    numeric = sum(1 for part in parts if _NUMBER.search(part))
    return numeric >= 2 and numeric >= 0.35 * len(parts) and not line.rstrip().endswith((".", "?", "!"))


def _flat(text: str) -> str:
    return " ".join(text.split())
