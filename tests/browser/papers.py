"""PDFs for the browser tests: the words that will be quoted are printed in red, so pixels tell whether a box is on them."""

from __future__ import annotations

import io

import pikepdf
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

LINES = (
    ("Maintenance", ["Oil is changed every 500 hours of work.", "Filters are cleaned on the first Monday of each month."]),
    ("Guarantee", ["The guarantee covers parts and labour.", "It does not cover seals that were fitted by others."]),
    ("Spare parts", ["Seals are kept in Linz and in Graz.", "Bearings are ordered from the works."]),
)


def pump_manual(red_line: str, title: str = "Manual of the pump X-200") -> bytes:
    """Three pages: a cover labelled i, then 1 and 2. The line stands in red on the second physical page."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4, invariant=1)
    canvas.setTitle(title)
    width, height = A4
    for number, (heading, lines) in enumerate(LINES, start=1):
        canvas.setFont("Helvetica-Bold", 20)
        canvas.drawString(70, height - 100, heading)
        canvas.setFont("Helvetica", 12)
        for row, line in enumerate(lines):
            canvas.drawString(70, height - 150 - 26 * row, line)
        if number == 2:
            canvas.setFillColorRGB(1, 0, 0)
            canvas.drawString(70, height - 260, red_line)
            canvas.setFillColorRGB(0, 0, 0)
            for row, line in enumerate(("Claims are sent to the works in writing.", "An answer is given within ten days.")):
                canvas.drawString(70, height - 300 - 26 * row, line)
        canvas.showPage()
    canvas.save()
    return _labelled(buffer.getvalue())


def _labelled(content: bytes) -> bytes:
    pdf = pikepdf.open(io.BytesIO(content))
    styles = {0: pikepdf.Dictionary(S=pikepdf.Name.r), 1: pikepdf.Dictionary(S=pikepdf.Name.D)}
    numbers = pikepdf.Array([part for index, style in styles.items() for part in (index, style)])
    pdf.Root.PageLabels = pikepdf.Dictionary(Nums=numbers)
    out = io.BytesIO()
    pdf.save(out, deterministic_id=True)
    return out.getvalue()
