"""Cutting a page's text into passages that an embedder reads whole."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ingestion.domain.pages import Block, BlockKind

_WORD = re.compile(r"\S+")


def passages_of(text: str, blocks: Sequence[Block], max_words: int) -> list[tuple[int, int]]:
    """Ranges of the text, in order, each of at most `max_words` words, cut between blocks where blocks are known.

    Running heads and feet are left out. Together the ranges cover every other word of the text exactly once.
    """
    furniture = [(b.start, b.end) for b in blocks if b.kind is BlockKind.FURNITURE]
    starts = {b.start for b in blocks if b.kind is not BlockKind.FURNITURE}
    words = [m.span() for m in _WORD.finditer(text) if not any(s <= m.start() < e for s, e in furniture)]
    passages: list[tuple[int, int]] = []
    first = 0
    for index in range(1, len(words) + 1):
        count = index - first
        at_end = index == len(words)
        # a new block closes a passage that is full enough; a full one is closed wherever it stands
        fresh_block = not at_end and words[index][0] in starts and count >= max_words * 0.6
        gap = not at_end and any(words[index - 1][1] <= s < words[index][0] for s, _ in furniture)
        if at_end or count >= max_words or fresh_block or gap:
            passages.append((words[first][0], words[index - 1][1]))
            first = index
    return passages
