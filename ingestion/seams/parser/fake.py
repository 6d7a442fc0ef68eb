"""The fake parser of the fake renderer's documents: words on a grid of lines; a line in capitals is a heading."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ingestion.domain.pages import Block, BlockKind, ReadPage, TextSource, Word
from ingestion.seams.renderer import Limits

LINES = 60
COLUMNS = 100


class TextParser:
    name = "fake"
    version = "1"

    def read(
        self, pdf: Path, pages: Sequence[int], images: Mapping[int, Path], limits: Limits, password: str | None = None
    ) -> list[ReadPage]:
        texts = pdf.read_bytes().decode().split("\f")
        return [_read(number, texts[number - 1]) for number in pages]


def _read(number: int, text: str) -> ReadPage:
    words, blocks, start = [], [], 0
    for line, content in enumerate(text.split("\n")):
        top, bottom = line / LINES, (line + 0.9) / LINES
        for match in re.finditer(r"\S+", content):
            box = (match.start() / COLUMNS, top, match.end() / COLUMNS, bottom)
            words.append(Word(start + match.start(), start + match.end(), line, box))
        if content.strip():
            kind = BlockKind.HEADING if content.isupper() else BlockKind.PARAGRAPH
            box = (0.0, top, len(content) / COLUMNS, bottom)
            blocks.append(Block(kind, start, start + len(content), box, level=1 if kind is BlockKind.HEADING else 0))
        start += len(content) + 1
    source = TextSource.LAYER if words else TextSource.NONE
    return ReadPage(number, text, source, tuple(words), tuple(blocks))
