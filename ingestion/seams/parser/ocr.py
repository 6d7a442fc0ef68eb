"""Reading a page's picture with rapidocr (weights come in its wheel). For the child only; the engine is loaded once in a process."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

import numpy as np
from PIL import Image

from ingestion.domain.cleaning import clean_line
from ingestion.seams.parser.pdfium_words import RawWord

LONG_SIDE = 1200
DETECT_SIDE = 960
MIN_SCORE = 0.6
SCRAP = 9.0  # characters a line: upside down text is read as scraps
LITTLE = 15  # characters: below this the page may stand on its side


@cache
def _engine() -> Any:
    from rapidocr import RapidOCR

    logging.getLogger("RapidOCR").setLevel(logging.ERROR)
    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_cls": False,
            "Global.text_score": MIN_SCORE,
            "Det.limit_side_len": DETECT_SIDE,
            "Det.limit_type": "max",
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def read_picture(path: str, page_height: float) -> tuple[list[RawWord], int]:
    """Words in reading order with boxes in fractions of the picture, and by how many degrees the text was found turned."""
    with Image.open(path) as opened:
        image = opened.convert("RGB")
    if max(image.size) > LONG_SIDE:
        image.thumbnail((LONG_SIDE, LONG_SIDE))
    best = _lines(image)
    turned = 0
    if _may_be_turned(best):
        for degrees in (90, 180, 270):
            found = _lines(image.rotate(degrees, expand=True))
            if _merit(found) > 1.1 * _merit(best):
                best, turned = found, degrees
    return _words(best, turned, page_height), turned


def _lines(image: Image.Image) -> list[tuple[str, np.ndarray, float]]:
    """(text, four corners in fractions of this picture, score)."""
    result = _engine()(np.asarray(image)[:, :, ::-1])
    if result.boxes is None or result.txts is None:
        return []
    size = np.array(image.size, dtype=float)
    found = []
    for text, corners, score in zip(result.txts, result.boxes, result.scores, strict=True):
        text = clean_line(text, 2000)
        if text and score >= MIN_SCORE:
            found.append((text, np.asarray(corners, dtype=float) / size, float(score)))
    return found


def _weight(lines: list[tuple[str, np.ndarray, float]]) -> float:
    return sum(len(text) * score for text, _, score in lines)


def _may_be_turned(lines: list[tuple[str, np.ndarray, float]]) -> bool:
    """Little text, text that stands upright, or scraps as they come from text that is upside down."""
    scraps = len(lines) >= 10 and _weight(lines) / len(lines) < SCRAP
    return _weight(lines) < LITTLE or _upright_share(lines) < 0.5 or scraps


def _merit(lines: list[tuple[str, np.ndarray, float]]) -> float:
    """How well the picture is read this way round: text that runs from left to right counts double."""
    return _weight(lines) * (1 + _upright_share(lines))


def _upright_share(lines: list[tuple[str, np.ndarray, float]]) -> float:
    """Share of characters in lines that are wider than high."""
    total = sum(len(text) for text, _, _ in lines) or 1
    return sum(len(text) for text, corners, _ in lines if np.ptp(corners[:, 0]) >= np.ptp(corners[:, 1]) or len(text) < 3) / total


def _turned_back(x: float, y: float, degrees: int) -> tuple[float, float]:
    """A point of the picture turned by `degrees` counter-clockwise, in fractions of the picture as it was."""
    return {0: (x, y), 90: (1 - y, x), 180: (1 - x, 1 - y), 270: (y, 1 - x)}[degrees]


def _words(lines: list[tuple[str, np.ndarray, float]], turned: int, page_height: float) -> list[RawWord]:
    """Words of the lines; lines of one height on the page become one line of text, left to right."""
    rows = _rows(lines)
    words = []
    for number, row in enumerate(rows):
        for text, corners, _ in row:
            x0, x1 = float(corners[:, 0].min()), float(corners[:, 0].max())
            y0, y1 = float(corners[:, 1].min()), float(corners[:, 1].max())
            step = (x1 - x0) / len(text)
            start = 0
            for piece in text.split(" "):
                left, right = x0 + start * step, x0 + (start + len(piece)) * step
                start += len(piece) + 1
                if piece:
                    a, b = _turned_back(left, y0, turned), _turned_back(right, y1, turned)
                    box = (min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1]))
                    box = tuple(min(1.0, max(0.0, side)) for side in box)
                    words.append(RawWord(piece, box, number, (y1 - y0) * page_height, False))  # type: ignore[arg-type]
    return words


def _rows(lines: list[tuple[str, np.ndarray, float]]) -> list[list[tuple[str, np.ndarray, float]]]:
    """Lines whose middles stand at one height, top to bottom, each row left to right."""
    rows: list[list[tuple[str, np.ndarray, float]]] = []
    for line in sorted(lines, key=lambda found: float(found[1][:, 1].mean())):
        middle, height = float(line[1][:, 1].mean()), float(np.ptp(line[1][:, 1]))
        if rows and abs(float(rows[-1][0][1][:, 1].mean()) - middle) < 0.5 * height:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda found: float(found[1][:, 0].min())) for row in rows]
