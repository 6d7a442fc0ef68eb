"""Pages: headings, paragraphs, ruled tables, bar charts, printed labels, bookmarks; and the picture of a scanned page."""

from __future__ import annotations

import io
import random
from pathlib import Path

import reportlab
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, Table, TableStyle

WIDTH, HEIGHT = A4
MARGIN = 62.0
BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=10.5, leading=15, spaceAfter=8)
RULES = TableStyle(
    [
        ("GRID", (0, 0), (-1, -1), 0.6, colors.HexColor("#7a8594")),
        ("BACKGROUND", (0, 0), (-1, 0), colors.HexColor("#e8ecf1")),
        ("FONTNAME", (0, 0), (-1, 0), "Helvetica-Bold"),
        ("FONTSIZE", (0, 0), (-1, -1), 10),
        ("ALIGN", (1, 0), (-1, -1), "RIGHT"),
    ]
)


class Book:
    """A PDF in the making; `number` is the physical page that is being drawn."""

    def __init__(self, path: Path, title: str, company: str, front_pages: int = 0) -> None:
        self.canvas = Canvas(str(path), pagesize=A4, invariant=1)
        self.canvas.setTitle(title)
        self.canvas.setAuthor(company)
        self.title, self.company, self.front_pages = title, company, front_pages
        self.number = 0
        if front_pages:
            self.canvas.addPageLabel(0, style="ROMAN_LOWER")
            self.canvas.addPageLabel(front_pages, style="ARABIC", start=1)

    @property
    def label(self) -> str:
        roman = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii")
        return roman[self.number - 1] if self.number <= self.front_pages else str(self.number - self.front_pages)

    def cover(self, lines: list[str]) -> None:
        self.number += 1
        self.canvas.setFont("Helvetica-Bold", 28)
        self.canvas.drawString(MARGIN, HEIGHT - 260, self.title)
        self.canvas.setFont("Helvetica", 14)
        for step, line in enumerate([self.company, *lines]):
            self.canvas.drawString(MARGIN, HEIGHT - 300 - 24 * step, line)
        self.canvas.showPage()

    def contents(self, entries: list[tuple[str, str]]) -> None:
        self.number += 1
        top = self._heading("Contents", level=0, bookmark=False)
        self.canvas.setFont("Helvetica", 10.5)
        for step, (title, label) in enumerate(entries):
            dots = "." * max(4, 88 - len(title) - len(label))
            self.canvas.drawString(MARGIN, top - 17 * step, f"{title} {dots} {label}")
        self._end()

    def page(self, heading: str, texts: list[str], *, table: tuple[str, list] | None = None, chart: tuple | None = None,
             opens_section: bool = False) -> int:  # fmt: skip
        """One page; returns its physical number. `table` is (caption, rows), `chart` (caption, {name: value}, unit)."""
        self.number += 1
        top = self._heading(heading, level=0 if opens_section else 1, bookmark=opens_section)
        for text in texts:
            top = self._flow(Paragraph(text, BODY), top, 8)
        if table is not None:
            caption, rows = table
            top = self._flow(Paragraph(f"<b>{caption}</b>", BODY), top - 6, 4)
            made = Table(rows, style=RULES, hAlign="LEFT")
            top = self._flow(made, top, 10)
        if chart is not None:
            self._chart(*chart, top - 10)
        self._end()
        return self.number

    def _heading(self, text: str, level: int, bookmark: bool) -> float:
        size = 18 if level == 0 else 13.5
        self.canvas.setFont("Helvetica-Bold", size)
        self.canvas.drawString(MARGIN, HEIGHT - 92, text)
        if bookmark:
            key = f"p{self.number}"
            self.canvas.bookmarkPage(key)
            self.canvas.addOutlineEntry(text, key, 0)
        return HEIGHT - 116

    def _flow(self, part, top: float, gap: float) -> float:  # noqa: ANN001
        _, height = part.wrapOn(self.canvas, WIDTH - 2 * MARGIN, top)
        if top - height < 60:
            raise ValueError(f"{self.title}: page {self.number} is too full")
        part.drawOn(self.canvas, MARGIN, top - height)
        return top - height - gap

    def _chart(self, caption: str, values: dict[str, float], unit: str, top: float) -> None:
        highest = max(values.values())
        self.canvas.setFont("Helvetica", 9)
        for step, (name, value) in enumerate(values.items()):
            y = top - 24 * (step + 1)
            self.canvas.setFillColor(colors.HexColor("#3a6ea5"))
            self.canvas.rect(MARGIN + 110, y, 260 * value / highest, 15, stroke=0, fill=1)
            self.canvas.setFillColor(colors.black)
            self.canvas.drawString(MARGIN, y + 4, name)
            self.canvas.drawString(MARGIN + 118 + 260 * value / highest, y + 4, f"{value:g} {unit}")
        self.canvas.setFont("Helvetica-Bold", 10.5)
        self.canvas.drawString(MARGIN, top - 24 * (len(values) + 1) - 6, caption)

    def _end(self) -> None:
        self.canvas.setFont("Helvetica", 8)
        self.canvas.drawString(MARGIN, 36, f"{self.company} - {self.title}")
        self.canvas.drawRightString(WIDTH - MARGIN, 36, self.label)
        self.canvas.showPage()

    def close(self) -> None:
        self.canvas.save()


def scanned(path: Path, lines: list[tuple[str, int]], seed: int) -> None:
    """A one-page PDF that is nothing but a picture: text drawn at 150 dpi, slightly turned, with noise. No text layer."""
    rng = random.Random(seed)
    image = Image.new("L", (1240, 1754), 246)
    draw = ImageDraw.Draw(image)
    fonts = Path(reportlab.__file__).parent / "fonts"
    y = 190
    for text, size in lines:
        font = ImageFont.truetype(str(fonts / ("VeraBd.ttf" if size > 40 else "Vera.ttf")), size)
        draw.text((130, y), text, fill=38, font=font)
        y += int(size * 1.9)
    draw.rectangle((100, 140, 1140, y + 60), outline=90, width=3)
    image = image.rotate(0.6, fillcolor=246, resample=Image.Resampling.BICUBIC).filter(ImageFilter.GaussianBlur(0.6))
    pixels = image.load()
    for _ in range(9000):
        pixels[rng.randrange(1240), rng.randrange(1754)] = rng.randrange(150, 235)
    canvas = Canvas(str(path), pagesize=A4, invariant=1)
    canvas.setTitle("Inspection certificate")
    picture = io.BytesIO()
    image.save(picture, "JPEG", quality=82)
    picture.seek(0)
    canvas.drawImage(ImageReader(picture), 0, 0, WIDTH, HEIGHT)  # from memory: a file's name would get into the bytes
    canvas.showPage()
    canvas.save()
