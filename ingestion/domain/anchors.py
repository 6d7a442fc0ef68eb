"""Quotes and their places: a quote is an offset range of a page's canonical text, and its boxes follow from it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from ingestion.domain.pages import Box, Word


def boxes_of_range(words: Iterable[Word], start: int, end: int) -> tuple[Box, ...]:
    """One box for each line that the range touches, in reading order; fractions of the displayed page."""
    lines: dict[int, list[Box]] = {}
    for word in words:
        if word.start < end and word.end > start:
            lines.setdefault(word.line, []).append(word.box)
    return tuple(
        (
            min(box[0] for box in boxes),
            min(box[1] for box in boxes),
            max(box[2] for box in boxes),
            max(box[3] for box in boxes),
        )
        for _, boxes in sorted(lines.items())
    )


def quote_hash(quote: str) -> str:
    """SHA-256 of the quote's UTF-8 bytes, hexadecimal."""
    return hashlib.sha256(quote.encode("utf-8")).hexdigest()


def quote_stands_at(text: str, start: int, end: int, quote: str) -> bool:
    """True when `quote` is, character for character, the range `start:end` of the page's text and not empty."""
    return 0 <= start < end <= len(text) and text[start:end] == quote and bool(quote.strip())
