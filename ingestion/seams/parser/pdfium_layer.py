"""A page's text layer as words with their places as displayed. In the parsing process only."""

from __future__ import annotations

import contextlib
import ctypes
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw

from ingestion.domain.cleaning import PAGE_CHARACTERS, SPACES, clean_character, is_meaningless, without_tokens
from ingestion.domain.pages import Box
from ingestion.seams.parser.placed import (
    Placed,
    clamped,
    in_reading_order,
    is_right_to_left,
    union,
    writes_without_spaces,
)

HYPHEN = 0x02  # PDFium's mark for a hyphen at the end of a line; the next line follows without a break
SAMPLE = 400  # characters that are asked whether they have a meaning
BOLD = 600
LONGEST_WORD = 100  # characters; what is longer is cut, so that no box grows without bound
MIN_OVERLAP = 0.4  # of the lower of two heights, for words of one line
NEAR = 0.8  # of the letters' height: a gap that does not end a line
TIGHT = 0.12  # of it: a gap that is no space
SPACE_CODES = frozenset(map(ord, SPACES | {" "}))
INVISIBLE_MODES = (raw.FPDF_TEXTRENDERMODE_INVISIBLE, raw.FPDF_TEXTRENDERMODE_CLIP)


@dataclass(frozen=True, slots=True)
class Frame:
    """From page space to fractions of the displayed page: crop box and rotation applied."""

    left: float
    bottom: float
    width: float
    height: float
    quarter_turns: int  # clockwise

    @property
    def displayed_height(self) -> float:
        """Points."""
        return self.width if self.quarter_turns % 2 else self.height

    @property
    def displayed_width(self) -> float:
        """Points."""
        return self.height if self.quarter_turns % 2 else self.width

    def displayed(self, left: float, bottom: float, right: float, top: float) -> Box:
        """A rectangle of page space as a box of the displayed page; parts may lie outside of 0 to 1."""
        u0, u1 = sorted(((left - self.left) / self.width, (right - self.left) / self.width))
        v0, v1 = sorted(((bottom - self.bottom) / self.height, (top - self.bottom) / self.height))
        if self.quarter_turns == 1:
            return v0, u0, v1, u1
        if self.quarter_turns == 2:
            return 1 - u1, v0, 1 - u0, v1
        if self.quarter_turns == 3:
            return 1 - v1, 1 - u1, 1 - v0, 1 - u0
        return u0, 1 - v1, u1, 1 - v0


@dataclass(frozen=True, slots=True)
class Layer:
    """What the text layer holds: its words in reading order, and how much of it means nothing."""

    words: list[Placed]
    characters: int
    meaningless: float  # share of its characters
    outside: int  # words beyond the displayed page


def frame_of(page: pdfium.PdfPage) -> Frame:
    """The frame of a page; ValueError when it has no extent."""
    rect = raw.FS_RECTF()
    raw.FPDF_GetPageBoundingBox(page, rect)
    width, height = rect.right - rect.left, abs(rect.top - rect.bottom)
    if not (width > 0 and height > 0):
        raise ValueError("a page without extent")
    return Frame(rect.left, min(rect.top, rect.bottom), width, height, raw.FPDFPage_GetRotation(page) % 4)


def layer_of(page: pdfium.PdfPage, frame: Frame) -> Layer:
    """Read the text layer. PDFium's order of the characters is kept; words, lines and places are ours."""
    with contextlib.closing(page.get_textpage()) as textpage:
        reader = _Reader(textpage, frame)
        words, meaningless = list(reader.words()), reader.meaningless()
    inside = [word for word in words if 0 <= (word.box[0] + word.box[2]) / 2 <= 1 and 0 <= (word.box[1] + word.box[3]) / 2 <= 1]
    for word in inside:
        word.box = clamped(word.box)
    return Layer(in_reading_order(_lines_joined(inside, frame)), reader.count, meaningless, len(words) - len(inside))


class _Reader:
    def __init__(self, textpage: pdfium.PdfTextPage, frame: Frame) -> None:
        self.textpage = textpage
        self.frame = frame
        self.count = min(max(0, textpage.count_chars()), PAGE_CHARACTERS)
        self.codes = [raw.FPDFText_GetUnicode(textpage, index) for index in range(self.count)]
        self.rect = raw.FS_RECTF()
        self.looks: dict[int, tuple[bool, bool, bool]] = {}
        self.fonts: dict[int, tuple[bool, bool]] = {}

    def meaningless(self) -> float:
        """Share of the visible characters that the font gives no meaning for, or a meaning that is none."""
        visible = [i for i in range(self.count) if self.codes[i] not in SPACE_CODES and self.codes[i] != HYPHEN]
        sample = visible[:: max(1, len(visible) // SAMPLE)]
        bad = sum(is_meaningless(self.codes[i]) or raw.FPDFText_HasUnicodeMapError(self.textpage, i) == 1 for i in sample)
        return bad / len(sample) if sample else 0.0

    def words(self) -> Iterator[Placed]:
        """The words, numbered by PDFium's lines."""
        line, first, ended = 0, -1, False
        for index, code in enumerate(self.codes):
            space = code in SPACE_CODES
            if first >= 0 and (space or index - first >= LONGEST_WORD):
                yield from self._word(first, index, line)
                first = -1
            ended = ended or code in (0x0A, 0x0D)
            if space:
                continue
            if ended:
                line, ended = line + 1, False
            first = index if first < 0 else first
            if code == HYPHEN:
                yield from self._word(first, index + 1, line)
                first, ended = -1, True
        if first >= 0:
            yield from self._word(first, self.count, line)

    def _word(self, start: int, end: int, line: int) -> Iterator[Placed]:
        codes = self.codes[start:end]
        if min(codes) > 0x20 and max(codes) < 0x7F:  # most words, at once
            yield self._placed(bytes(codes).decode("ascii"), start, end - 1, line, False)
            return
        pieces = [(text, index) for index in range(start, end) if (text := self._letter(index))]
        if any(is_right_to_left(text[0]) for text, _ in pieces):
            pieces = self._logical(pieces)
        for number, group in enumerate(_split(pieces)):
            text = unicodedata.normalize("NFC", "".join(piece for piece, _ in group))
            yield self._placed(text, group[0][1], group[-1][1], line, number > 0)

    def _placed(self, text: str, first: int, last: int, line: int, glued: bool) -> Placed:
        box = self._box(first)
        size = (box[3] - box[1]) * self.frame.displayed_height
        if last != first:
            box = union((box, self._box(last)))
        return Placed(without_tokens(text), box, line, size, glued, *self._look(first))

    def _letter(self, index: int) -> str:
        code = self.codes[index]
        if code == HYPHEN:
            return "-"
        if 0xD800 <= code <= 0xDBFF and index + 1 < self.count and 0xDC00 <= self.codes[index + 1] <= 0xDFFF:
            return chr(0x10000 + (code - 0xD800) * 0x400 + self.codes[index + 1] - 0xDC00)
        return clean_character(code).strip()

    def _box(self, index: int) -> Box:
        rect = self.rect
        if not raw.FPDFText_GetLooseCharBox(self.textpage, index, rect) or rect.left == rect.right or rect.top == rect.bottom:
            left, bottom, right, top = self.textpage.get_charbox(index)
            return self.frame.displayed(left, bottom, right, top)
        return self.frame.displayed(rect.left, rect.bottom, rect.right, rect.top)

    def _logical(self, pieces: list[tuple[str, int]]) -> list[tuple[str, int]]:
        """Letters of a right-to-left word as they are read; one drawn sign that stands for several is put right as well."""
        clusters: list[tuple[Box, list[tuple[str, int]]]] = []
        for piece in pieces:
            box = self._box(piece[1])
            if clusters and clusters[-1][0] == box:
                clusters[-1][1].append(piece)
            else:
                clusters.append((box, [piece]))
        if len(clusters) > 1 and clusters[0][0][0] < clusters[-1][0][0]:
            clusters.reverse()
        return [
            piece
            for _, cluster in clusters
            for piece in (cluster if "".join(text for text, _ in cluster) in _ligatures() else reversed(cluster))
        ]

    def _look(self, index: int) -> tuple[bool, bool, bool]:
        """(bold, invisible, its font is not at hand), looked up once for each text object."""
        item = raw.FPDFText_GetTextObject(self.textpage, index)
        key = _address(item)
        if key not in self.looks:
            font = raw.FPDFTextObj_GetFont(item) if item else None
            bold, embedded = self._font(font, index)
            invisible = bool(item) and raw.FPDFTextObj_GetTextRenderMode(item) in INVISIBLE_MODES
            self.looks[key] = (bold, invisible, not embedded and self.codes[index] >= 0x2E80)
        return self.looks[key]

    def _font(self, font: object, index: int) -> tuple[bool, bool]:
        """(bold, comes with the file), once for each font."""
        key = _address(font)
        if key not in self.fonts:
            bold = raw.FPDFText_GetFontWeight(self.textpage, index) >= BOLD or _name_is_bold(font)
            self.fonts[key] = (bold, not font or raw.FPDFFont_GetIsEmbedded(font) != 0)
        return self.fonts[key]


def _address(pointer: Any) -> int:
    return ctypes.addressof(pointer.contents) if pointer else 0


def _name_is_bold(font: object) -> bool:
    if not font:
        return False
    buffer = ctypes.create_string_buffer(128)
    size = raw.FPDFFont_GetBaseFontName(font, buffer, 128)
    name = buffer.value.lower() if size <= 128 else b""
    return any(word in name for word in (b"bold", b"black", b"heavy", b"semibold"))


@cache
def _ligatures() -> frozenset[str]:
    """Sequences of letters that one sign of Unicode's presentation forms stands for: they come in logical order."""
    forms = [*range(0xFB1D, 0xFDFC), *range(0xFE70, 0xFEFD)]
    return frozenset(unicodedata.normalize("NFKC", chr(code)) for code in forms)


def _split(pieces: Sequence[tuple[str, int]]) -> Iterator[list[tuple[str, int]]]:
    """Letters of scripts without spaces each by itself, everything else together."""
    group: list[tuple[str, int]] = []
    for piece in pieces:
        alone = writes_without_spaces(piece[0][0])
        if group and (alone or writes_without_spaces(group[-1][0][0])):
            yield group
            group = []
        group.append(piece)
    if group:
        yield group


def _lines_joined(words: list[Placed], frame: Frame) -> list[Placed]:
    """Lines where a reader sees them: PDFium ends one at each index below or above the line, and misses some ends."""
    line, before, pdfium_line = 0, None, 0
    for word in words:
        if before is not None:
            height = max(before.box[3] - before.box[1], word.box[3] - word.box[1]) * frame.displayed_height / frame.displayed_width
            gap, overlap = word.box[0] - before.box[2], _overlap(before, word)
            if word.line != pdfium_line:
                if overlap >= MIN_OVERLAP and -0.2 * height <= gap <= NEAR * height:
                    word.glued = word.glued or gap < TIGHT * height
                else:
                    line += 1
            elif word.box[0] < before.box[0] and overlap <= 0:
                line += 1
        pdfium_line, word.line, before = word.line, line, word
    return words


def _overlap(a: Placed, b: Placed) -> float:
    """Common height of two words as a share of the lower one's."""
    lower = min(a.box[3] - a.box[1], b.box[3] - b.box[1])
    return (min(a.box[3], b.box[3]) - max(a.box[1], b.box[1])) / lower if lower > 0 else 0.0
