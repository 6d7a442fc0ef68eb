"""What a page holds besides text: images, and drawings made of many paths. In the parsing process only."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pypdfium2 as pdfium
from pypdfium2 import raw

from ingestion.domain.pages import Box
from ingestion.seams.parser.pdfium_layer import Frame
from ingestion.seams.parser.placed import area, clamped

MAX_OBJECTS = 4_000
MAX_DEPTH = 4  # of forms within forms
FIGURE_AREA = 0.02  # of the page
GRID = 40
THIN = 0.004  # of the page: a rule, not a shape
PATHS = 12  # that a drawing has at least
DRAWN_INTO = (raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_FREETEXT, raw.FPDF_ANNOT_STAMP)


@dataclass(frozen=True, slots=True)
class Graphics:
    """Places of the page's images and drawings, and of the rules that tables are drawn with."""

    images: tuple[Box, ...]
    drawings: tuple[Box, ...]
    rules: tuple[Box, ...]


def graphics_of(page: pdfium.PdfPage, frame: Frame) -> Graphics:
    images, shapes, rules = [], [], []
    for kind, box in _objects(page, frame):
        if kind in (raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_SHADING):
            images.append(box)
        elif min(box[2] - box[0], box[3] - box[1]) < THIN:
            rules.append(box)
        elif area(box) < 0.7:  # what covers the page is its ground
            shapes.append(box)
    return Graphics(tuple(images), tuple(_clusters([*shapes, *rules], PATHS)), tuple(rules))


def has_drawn_annotations(page: pdfium.PdfPage) -> bool:
    """Whether words of the displayed page stand in form fields, stamps or free text, outside of its content."""
    for index in range(min(raw.FPDFPage_GetAnnotCount(page), 500)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        if annotation:
            kind = raw.FPDFAnnot_GetSubtype(annotation)
            raw.FPDFPage_CloseAnnot(annotation)
            if kind in DRAWN_INTO:
                return True
    return False


def _objects(page: pdfium.PdfPage, frame: Frame) -> Iterator[tuple[int, Box]]:
    """(kind, box on the displayed page) of images, shadings and paths, into forms; at most `MAX_OBJECTS` are looked at."""
    sides = [ctypes.c_float() for _ in range(4)]
    identity = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    count = min(MAX_OBJECTS, raw.FPDFPage_CountObjects(page))
    stack = [(raw.FPDFPage_GetObject, page, index, identity, 0) for index in range(count - 1, -1, -1)]
    looked = 0
    while stack and looked < MAX_OBJECTS:
        getter, holder, index, matrix, depth = stack.pop()
        item = getter(holder, index)
        kind = raw.FPDFPageObj_GetType(item)
        looked += 1
        if kind == raw.FPDF_PAGEOBJ_TEXT:
            continue
        if kind == raw.FPDF_PAGEOBJ_FORM:
            if depth < MAX_DEPTH:
                inner = _product(_matrix(item), matrix)
                count = min(MAX_OBJECTS, max(0, raw.FPDFFormObj_CountObjects(item)))
                stack.extend((raw.FPDFFormObj_GetObject, item, at, inner, depth + 1) for at in range(count - 1, -1, -1))
        elif raw.FPDFPageObj_GetBounds(item, *sides):
            box = clamped(frame.displayed(*_mapped(matrix, *(side.value for side in sides))))
            if box[2] > box[0] or box[3] > box[1]:
                yield kind, box


def _matrix(item: object) -> tuple[float, ...]:
    matrix = raw.FS_MATRIX()
    raw.FPDFPageObj_GetMatrix(item, matrix)
    return matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f


def _product(first: tuple[float, ...], then: tuple[float, ...]) -> tuple[float, ...]:
    a, b, c, d, e, f = first
    A, B, C, D, E, F = then
    return a * A + b * C, a * B + b * D, c * A + d * C, c * B + d * D, e * A + f * C + E, e * B + f * D + F


def _mapped(matrix: tuple[float, ...], left: float, bottom: float, right: float, top: float) -> tuple[float, float, float, float]:
    a, b, c, d, e, f = matrix
    xs = [a * x + c * y + e for x in (left, right) for y in (bottom, top)]
    ys = [b * x + d * y + f for x in (left, right) for y in (bottom, top)]
    return min(xs), min(ys), max(xs), max(ys)


def _clusters(boxes: list[Box], least: int) -> list[Box]:
    """Boxes around connected groups of at least `least` of the boxes that are large enough to be a figure."""
    if len(boxes) < least:
        return []
    cells = np.zeros((GRID, GRID), dtype=int)
    spans = []
    for x0, y0, x1, y1 in boxes:
        span = int(y0 * (GRID - 1)), int(y1 * (GRID - 1)) + 1, int(x0 * (GRID - 1)), int(x1 * (GRID - 1)) + 1
        spans.append(span)
        cells[span[0] : span[1], span[2] : span[3]] = 1
    groups = _components(cells)
    found: dict[int, list[Box]] = {}
    for span, box in zip(spans, boxes, strict=True):
        found.setdefault(int(groups[span[0], span[2]]), []).append(box)
    clusters = []
    for group in found.values():
        around = min(b[0] for b in group), min(b[1] for b in group), max(b[2] for b in group), max(b[3] for b in group)
        if len(group) >= least and FIGURE_AREA * 2 <= area(around) <= 0.85:
            clusters.append(around)
    return clusters


def _components(cells: np.ndarray) -> np.ndarray:
    """Numbers the connected parts of a grid of 0 and 1 (4 neighbours)."""
    groups = np.zeros_like(cells)
    number = 0
    for start in zip(*np.nonzero(cells), strict=True):
        if groups[start]:
            continue
        number += 1
        stack = [start]
        while stack:
            y, x = stack.pop()
            if 0 <= y < GRID and 0 <= x < GRID and cells[y, x] and not groups[y, x]:
                groups[y, x] = number
                stack += [(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)]
    return groups
