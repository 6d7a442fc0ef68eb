"""The inspection certificate: a scan, that is a picture of a page without a text layer."""

from __future__ import annotations

import io
import random
from pathlib import Path

import reportlab
from books import Made
from facts import Facts
from layout import HEIGHT, WIDTH
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

SIZE = (1654, 2339)  # A4 at 200 dots per inch
PAPER, INK, STAMP = 244, 42, 118
FONTS = Path(reportlab.__file__).parent / "fonts"


def certificate(path: Path, facts: Facts) -> Made:
    rng = facts.rng("certificate")
    picture = io.BytesIO()
    _scanned(_drawn(facts, rng), rng).save(picture, "JPEG", quality=80)
    picture.seek(0)
    canvas = Canvas(str(path), pagesize=(WIDTH, HEIGHT), invariant=1)
    canvas.setTitle("Inspection Certificate")
    canvas.drawImage(ImageReader(picture), 0, 0, WIDTH, HEIGHT)  # from memory: a file's name would get into the bytes
    canvas.showPage()
    canvas.save()
    return Made("Inspection Certificate", 1, {"tank": 1}, {"tank": "1"})


def _font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(FONTS / ("VeraBd.ttf" if bold else "Vera.ttf")), size)


def _drawn(facts: Facts, rng: random.Random) -> Image.Image:
    image = Image.new("L", SIZE, PAPER)
    draw = ImageDraw.Draw(image)
    draw.text((170, 190), "INSPECTION CERTIFICATE", fill=INK, font=_font(62, bold=True))
    draw.text((170, 285), facts.company, fill=INK, font=_font(40))
    draw.line((170, 360, 1484, 360), fill=INK, width=4)
    rows = [
        ("Certificate number", facts.certificate),
        ("Date of the test", facts.certificate_date),
        ("Site", facts.city),
        ("Medium", rng.choice(("water", "nitrogen"))),
        ("Design pressure", f"{facts.design_pressure} bar"),
    ]
    y = 430
    for name, value in rows:
        draw.text((170, y), name, fill=INK, font=_font(36))
        draw.text((720, y), value, fill=INK, font=_font(36))
        draw.line((170, y + 70, 1484, y + 70), fill=150, width=2)
        y += 110
    y += 70
    for line in (
        f"The storage tank was tested at a pressure of {facts.test_pressure} bar.",
        f"The pressure was held for {rng.randrange(20, 59)} minutes, and no leak was seen.",
        "The safety valve opened as it should.",
    ):
        draw.text((170, y), line, fill=INK, font=_font(38))
        y += 105
    y += 180
    draw.text((170, y), f"Inspector: {facts.inspector}", fill=INK, font=_font(36))
    draw.line((170, y + 190, 760, y + 190), fill=INK, width=3)
    draw.text((170, y + 205), "Signature", fill=INK, font=_font(26))
    _signature(draw, rng, 200, y + 150)
    _stamp(image, facts, (1060, y - 40))
    return image


def _signature(draw: ImageDraw.ImageDraw, rng: random.Random, x: int, y: int) -> None:
    points = [(x, y)]
    for _ in range(14):
        points.append((points[-1][0] + rng.randrange(12, 44), y + rng.randrange(-66, 34)))
    draw.line(points, fill=70, width=5, joint="curve")


def _stamp(image: Image.Image, facts: Facts, corner: tuple[int, int]) -> None:
    stamp = Image.new("L", (380, 380), 255)
    draw = ImageDraw.Draw(stamp)
    draw.ellipse((10, 10, 370, 370), outline=STAMP, width=8)
    draw.ellipse((34, 34, 346, 346), outline=STAMP, width=3)
    draw.text((190, 165), "PASSED", fill=STAMP, font=_font(52, bold=True), anchor="mm")
    draw.text((190, 228), str(facts.year), fill=STAMP, font=_font(38), anchor="mm")
    turned = stamp.rotate(9, fillcolor=255, resample=Image.Resampling.BICUBIC)
    box = (*corner, corner[0] + 380, corner[1] + 380)
    image.paste(ImageChops.darker(image.crop(box), turned), box)


def _scanned(image: Image.Image, rng: random.Random) -> Image.Image:
    """Slightly turned, a little soft, with grain: as from the glass of an office scanner."""
    angle = rng.choice((-1, 1)) * rng.uniform(0.3, 0.8)
    image = image.rotate(angle, fillcolor=PAPER, resample=Image.Resampling.BICUBIC).filter(ImageFilter.GaussianBlur(0.7))
    grain = Image.frombytes("L", SIZE, rng.randbytes(SIZE[0] * SIZE[1])).filter(ImageFilter.GaussianBlur(0.8))
    return Image.blend(image, grain, 0.06)
