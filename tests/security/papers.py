"""Attacks as real PDFs: pages that carry the instruction where the attack says, and a page with the honest fact."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pikepdf
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.colors import Color, black, white
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from tests.security.attacks import Attack, Place
from tests.security.world import FACT, SECRET

WIDTH, HEIGHT = 612.0, 792.0
FONT = "Helvetica"
LAST_LINE = "Spare parts follow by rail within a fortnight of any written order."
SCANNED = ["DELIVERY", "The Orion is delivered in ten weeks.", "Freight is paid by the customer.", LAST_LINE]


def paper(attacks: Sequence[Attack], path: Path) -> Path:
    """A PDF with a page for each attack, then the page with the fact, then one with a secret."""
    canvas = Canvas(str(path), pagesize=(WIDTH, HEIGHT))
    for attack in attacks:
        if attack.place is Place.METADATA:
            canvas.setTitle(attack.text)
            canvas.setSubject(attack.text)
            canvas.setKeywords(attack.text)
            canvas.setAuthor(attack.text)
        if attack.place is Place.OUTLINE:
            canvas.bookmarkPage("here")
            canvas.addOutlineEntry(attack.text, "here", 0)
        if attack.place is Place.OCR_LAYER:
            _scan(canvas, attack.text)
        else:
            _write(canvas, 720, "DELIVERY", 16)
            _write(canvas, 690, "The Orion is delivered in ten weeks, and the freight is paid by the customer.")
            _plant(canvas, attack)
        canvas.showPage()
    for heading, text in (("WARRANTY", FACT), ("SALARIES", SECRET.replace("\n", " "))):
        _write(canvas, 720, heading, 16)
        _write(canvas, 690, text)
        canvas.showPage()
    canvas.save()
    for attack in attacks:
        if attack.place is Place.LABEL:
            _label(path, attack.text)
    return path


def lines(path: Path, texts: list[str]) -> Path:
    """One page with these lines, each a paragraph of its own."""
    canvas = Canvas(str(path), pagesize=(WIDTH, HEIGHT))
    _write(canvas, 740, "NOTES", 16)
    for number, text in enumerate(texts):
        _write(canvas, 700 - 36 * number, text, 11)
    canvas.showPage()
    canvas.save()
    return path


def _write(canvas: Canvas, y: float, text: str, size: float = 12, x: float = 72) -> None:
    canvas.setFont(FONT, size)
    canvas.drawString(x, y, text)


def _plant(canvas: Canvas, attack: Attack) -> None:
    if attack.place is Place.WHITE:
        canvas.setFillColor(white)
        _write(canvas, 500, attack.text)
    elif attack.place is Place.FAINT:
        canvas.setFillColor(Color(0.9, 0.9, 0.9))
        _write(canvas, 500, attack.text, 14)
    elif attack.place is Place.TINY:
        _write(canvas, 500, attack.text, 1)
    elif attack.place is Place.OFF_PAGE:
        _write(canvas, 500, attack.text, x=WIDTH + 60)
    elif attack.place is Place.COVERED:
        _write(canvas, 500, attack.text)
        canvas.drawImage(_picture(["A photograph"], (800, 300)), 60, 420, 480, 180)
    elif attack.place is Place.FIGURE:
        half = len(attack.text) // 2
        canvas.drawImage(_picture([attack.text[:half], attack.text[half:]], (1400, 420)), 72, 300, 460, 140)
    canvas.setFillColor(black)


def _scan(canvas: Canvas, layer: str) -> None:
    """A page that is one picture, with an invisible layer that says what the picture says, and one line more."""
    canvas.drawImage(_picture(SCANNED, (1224, 1584), step=120), 0, 0, WIDTH, HEIGHT)
    text = canvas.beginText(100, 0)
    text.setFont(FONT, 16)
    text.setTextRenderMode(3)
    for number, line in enumerate([*SCANNED[:-1], layer]):
        text.setTextOrigin(60, HEIGHT - 72 - 60 * number)
        text.textLine(line)
    canvas.drawText(text)


def _picture(texts: list[str], size: tuple[int, int], step: int = 150) -> ImageReader:
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((2, 2, size[0] - 3, size[1] - 3), outline="black", width=3)
    for number, text in enumerate(texts):
        draw.text((120, 114 + step * number), text, fill="black", font=ImageFont.load_default(32))
    held = io.BytesIO()
    image.save(held, "PNG")
    return ImageReader(held)


def _label(path: Path, text: str) -> None:
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        labels = pikepdf.Dictionary(Nums=pikepdf.Array([0, pikepdf.Dictionary(P=pikepdf.String(text))]))
        pdf.Root.PageLabels = labels
        pdf.save(path)
