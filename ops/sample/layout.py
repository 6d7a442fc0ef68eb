"""Pages of a PDF: headings, paragraphs, lists, ruled tables, charts, contents, printed labels, bookmarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable, Paragraph, Spacer, Table, TableStyle

WIDTH, HEIGHT = A4
MARGIN, TOP, BOTTOM = 64.0, HEIGHT - 74, 66.0
INK, ACCENT, RULE, SHADE = (colors.HexColor(c) for c in ("#1d2733", "#2f6690", "#8a95a3", "#e9eef3"))
BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=10.5, leading=15, spaceAfter=8, textColor=INK)
ITEM = ParagraphStyle("item", BODY, leftIndent=14, bulletIndent=2, spaceAfter=3)
CHAPTER = ParagraphStyle("chapter", BODY, fontName="Helvetica-Bold", fontSize=19, leading=24, spaceAfter=12, textColor=ACCENT)
SECTION = ParagraphStyle("section", BODY, fontName="Helvetica-Bold", fontSize=13.5, leading=18, spaceAfter=7)
CAPTION = ParagraphStyle("caption", BODY, fontName="Helvetica-Bold", fontSize=10, leading=14, spaceBefore=4, spaceAfter=5)
RULES = TableStyle(
    [
        ("GRID", (0, 0), (-1, -1), 0.6, RULE),
        ("BACKGROUND", (0, 0), (-1, 0), SHADE),
        ("FONTNAME", (0, 0), (-1, 0), "Helvetica-Bold"),
        ("FONTSIZE", (0, 0), (-1, -1), 9.5),
        ("TEXTCOLOR", (0, 0), (-1, -1), INK),
        ("ALIGN", (1, 0), (-1, -1), "RIGHT"),
        ("LEFTPADDING", (0, 0), (-1, -1), 10),
        ("RIGHTPADDING", (0, 0), (-1, -1), 10),
    ]
)


@dataclass(frozen=True)
class Ruled:
    """A table; the book puts `Table N: ` before its caption. The first row is the header."""

    caption: str
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Bars:
    """A bar chart of (name, value as it is printed), numbered as a figure; `unit` follows each value."""

    caption: str
    values: Sequence[tuple[str, str]]
    unit: str
    upright: bool = False


@dataclass(frozen=True)
class Bullets:
    lines: Sequence[str]


Part = str | Ruled | Bars | Bullets


class _Chart(Flowable):
    def __init__(self, bars: Bars) -> None:
        super().__init__()
        self.bars = bars
        self.width, self.height = WIDTH - 2 * MARGIN, 210.0 if bars.upright else 27.0 * len(bars.values) + 14

    def wrap(self, _width: float, _height: float) -> tuple[float, float]:
        return self.width, self.height

    def draw(self) -> None:
        highest = max(float(value) for _, value in self.bars.values)
        for step, (name, value) in enumerate(self.bars.values):
            share = float(value) / highest
            (self._column if self.bars.upright else self._row)(step, name, f"{value} {self.bars.unit}".strip(), share)
        self.canv.setStrokeColor(RULE)
        self.canv.line(*((20, 24, self.width - 20, 24) if self.bars.upright else (112, 4, 112, self.height - 8)))

    def _row(self, step: int, name: str, label: str, share: float) -> None:
        y, length = self.height - 27 * (step + 1), 250 * share
        self._text(0, y + 5, name)
        self._bar(113, y, length, 17)
        self._text(121 + length, y + 5, label)

    def _column(self, step: int, name: str, label: str, share: float) -> None:
        room = (self.width - 60) / len(self.bars.values)
        x, length = 30 + room * step, 150 * share
        self._bar(x + room * 0.2, 25, room * 0.6, length)
        self._text(x + room / 2, 11, name, centred=True)
        self._text(x + room / 2, 30 + length, label, centred=True)

    def _bar(self, x: float, y: float, width: float, height: float) -> None:
        self.canv.setFillColor(ACCENT)
        self.canv.rect(x, y, width, height, stroke=0, fill=1)

    def _text(self, x: float, y: float, text: str, centred: bool = False) -> None:
        self.canv.setFillColor(INK)
        self.canv.setFont("Helvetica", 9.5)
        (self.canv.drawCentredString if centred else self.canv.drawString)(x, y, text)


class Book:
    """A PDF in the making; `number` is the physical page that is being drawn, `label` what is printed on it."""

    def __init__(self, path: Path, title: str, company: str, front_pages: int = 0, chapters: bool = False) -> None:
        self.canvas = Canvas(str(path), pagesize=A4, invariant=1)
        self.canvas.setTitle(title)
        self.canvas.setAuthor(company)
        self.title, self.company, self.front_pages, self.chapters = title, company, front_pages, chapters
        self.number = self.tables = self.figures = 0
        if front_pages:
            self.canvas.addPageLabel(0, style="ROMAN_LOWER")
            self.canvas.addPageLabel(front_pages, style="ARABIC", start=1)

    @property
    def label(self) -> str:
        roman = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii")
        return roman[self.number - 1] if self.number <= self.front_pages else str(self.number - self.front_pages)

    def cover(self, lines: Sequence[str]) -> None:
        self.number += 1
        self.canvas.setFillColor(ACCENT)
        self.canvas.rect(0, HEIGHT - 210, WIDTH, 12, stroke=0, fill=1)
        self.canvas.setFillColor(INK)
        self.canvas.setFont("Helvetica-Bold", 30)
        self.canvas.drawString(MARGIN, HEIGHT - 270, self.title)
        self.canvas.setFont("Helvetica", 14)
        for step, line in enumerate([self.company, *lines]):
            self.canvas.drawString(MARGIN, HEIGHT - 312 - 24 * step, line)
        self.canvas.showPage()

    def contents(self, entries: Sequence[tuple[int, str, str]], pages: int) -> None:
        """Entries (level, title, printed label) over so many pages."""
        share = -(-len(entries) // pages)
        for first in range(0, len(entries), share):
            title = "Contents" if first == 0 else "Contents, continued"
            self._open(title)
            self._draw([Paragraph(title, CHAPTER)])
            y = TOP - 44
            for level, title, label in entries[first : first + share]:
                self.canvas.setFont("Helvetica" if level else "Helvetica-Bold", 10)
                start = MARGIN + 16 * level
                self.canvas.drawString(start, y, title)
                width = self.canvas.stringWidth(f"{title}  ")
                self.canvas.drawRightString(WIDTH - MARGIN - 30, y, "." * int((WIDTH - 2 * MARGIN - 36 - 16 * level - width) / 2.9))
                self.canvas.drawRightString(WIDTH - MARGIN, y, label)
                y -= 14.2
            self._close_page()

    def page(
        self, section: str, parts: Sequence[Part], filler: Iterator[str] | None = None, *, chapter: str = "", full: float = 0.9,
        before: int = 1,
    ) -> int:  # fmt: skip
        """One page with all `parts`, after `before` paragraphs of the filler and filled up with more; returns its physical number."""
        self._open(chapter)
        if section:
            self._bookmark(section, 1 if self.chapters else 0)
        head = [Paragraph(chapter, CHAPTER)] if chapter else []
        head += [Paragraph(section, SECTION)] if section else []
        fixed = [flowable for part in parts for flowable in self._flowables(part)]
        room = (TOP - BOTTOM) * full - sum(self._height(f) for f in [*head, *fixed])
        texts: list[Flowable] = []
        while filler is not None and room > 70:
            texts.append(Paragraph(next(filler), BODY))
            room -= self._height(texts[-1])
        if texts and room < -(TOP - BOTTOM) * (1 - full):
            texts.pop()
        self._draw([*head, *texts[:before], *fixed, *texts[before:]])
        self._close_page()
        return self.number

    def _flowables(self, part: Part) -> list[Flowable]:
        if isinstance(part, str):
            return [Paragraph(part, BODY)]
        if isinstance(part, Bullets):
            return [*(Paragraph(line, ITEM, bulletText="•") for line in part.lines), Spacer(1, 5)]
        if isinstance(part, Ruled):
            self.tables += 1
            caption = Paragraph(f"Table {self.tables}: {part.caption}", CAPTION)
            return [caption, Table([list(row) for row in part.rows], style=RULES, hAlign="LEFT"), Spacer(1, 12)]
        self.figures += 1
        return [_Chart(part), Paragraph(f"Figure {self.figures}: {part.caption}", CAPTION), Spacer(1, 8)]

    def _open(self, title: str) -> None:
        self.number += 1
        if title:
            self._bookmark(title, 0)

    def _bookmark(self, title: str, level: int) -> None:
        key = f"{self.number}-{level}"
        self.canvas.bookmarkPage(key)
        self.canvas.addOutlineEntry(title, key, level, closed=level == 0)

    def _height(self, flowable: Flowable) -> float:
        return flowable.wrapOn(self.canvas, WIDTH - 2 * MARGIN, HEIGHT)[1] + flowable.getSpaceAfter() + flowable.getSpaceBefore()

    def _draw(self, flowables: Sequence[Flowable]) -> None:
        y = TOP
        for flowable in flowables:
            height = self._height(flowable)
            if y - height < BOTTOM - 14:
                raise ValueError(f"{self.title}: page {self.number} is too full")
            flowable.drawOn(self.canvas, MARGIN, y - height + flowable.getSpaceAfter())
            y -= height

    def _close_page(self) -> None:
        self.canvas.setFillColor(INK)
        self.canvas.setFont("Helvetica", 8)
        self.canvas.drawString(MARGIN, 34, f"{self.company} - {self.title}")
        self.canvas.drawRightString(WIDTH - MARGIN, 34, self.label)
        self.canvas.showPage()

    def close(self) -> int:
        """Write the file; returns the number of its pages."""
        self.canvas.save()
        return self.number
