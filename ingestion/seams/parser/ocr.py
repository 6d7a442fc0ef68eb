"""Reading a page's picture with rapidocr, whose weights come in its wheel. In the parsing process only: the engine is loaded once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from ingestion.domain.cleaning import clean_line
from ingestion.domain.pages import Box
from ingestion.seams.parser.placed import Placed, clamped, writes_without_spaces

MIN_SCORE = 0.6
LITTLE = 12  # characters, weighed: below this the page may stand on its head
LEAST = 4  # characters, weighed, for believing that it does
SIDEWAYS = 0.5  # share of characters in lines higher than wide
LINE_CHARACTERS = 1000
GUTTER = 0.01  # of the page's width: a space between columns
BAND = 1.1  # of a line's height: a space between parts of a page
MODELS = {"Det.model_path": "PP-OCRv6_det_small.onnx", "Rec.model_path": "PP-OCRv6_rec_small.onnx"}


@dataclass(frozen=True, slots=True)
class OcrSettings:
    """Pixels of the long side in which letters are read, and in which lines are looked for; threads of the model.

    Looking for lines costs with the square of its side; reading a line costs the same whatever the picture's size, and
    spaces between words are lost in small ones.
    """

    long_side: int = 1500
    detect_side: int = 960
    threads: int = 1


@dataclass(frozen=True, slots=True)
class Line:
    """A line that was found: its box in fractions of the picture, and where it would lie were the scan straight.

    `slope` is how far down it runs, in fractions of the height over the whole width.
    """

    text: str
    box: Box
    score: float
    lie: Box
    slope: float


@cache
def _engine(settings: OcrSettings) -> Any:
    import rapidocr

    # The paths are given, so that nothing is ever fetched: a missing file is an error, not a download.
    folder = Path(rapidocr.__file__).parent / "models"
    return rapidocr.RapidOCR(
        params={
            **{key: str(folder / name) for key, name in MODELS.items()},
            "Global.log_level": "critical",
            "Global.use_cls": False,
            "Global.text_score": 0.0,
            "Global.max_side_len": settings.long_side,
            "Det.limit_side_len": settings.detect_side,
            "Det.limit_type": "max",
            "EngineConfig.onnxruntime.intra_op_num_threads": settings.threads,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def read_picture(path: Path, page_height: float, settings: OcrSettings) -> tuple[list[Placed], int]:
    """The words of the picture in reading order, and by how many degrees clockwise the text stands turned on the page.

    `page_height` in points. The picture is looked at a second time only where the first look gave little, doubtful or
    standing lines.
    """
    with Image.open(path) as opened:
        image = opened.convert("RGB")
    image.thumbnail((settings.long_side, settings.long_side))
    lines, turned = _oriented(image, settings)
    shown_height = page_height if turned % 2 == 0 else page_height * image.width / image.height
    return _words(_rows(lines), turned, shown_height), turned * 90


def _oriented(image: Image.Image, settings: OcrSettings) -> tuple[list[Line], int]:
    """The lines as they lie once the picture is upright, and by how many quarters clockwise it was turned."""
    first = _lines(image, settings)
    if _sideways(first) > SIDEWAYS:
        # The reader turns a standing line counter-clockwise by itself: where that reads well, it is right for the page.
        if _certain(first):
            turned = [(line, _turned_back(line.box, 3)) for line in _legible(first)]
            return [replace(line, box=box, lie=box, slope=0.0) for line, box in turned], 1
        second, quarter = _lines(image.rotate(270, expand=True), settings), 3
    elif _weight(first) < LITTLE or not _certain(first):
        second, quarter = _lines(image.rotate(180, expand=True), settings), 2
    else:
        return _legible(first), 0
    if _weight(second) > max(1.15 * _weight(first), LEAST):
        return _legible(second), quarter
    return _legible(first), 0


def _legible(lines: list[Line]) -> list[Line]:
    return [line for line in lines if line.score >= MIN_SCORE]


def _lines(image: Image.Image, settings: OcrSettings) -> list[Line]:
    found = _engine(settings)(np.asarray(image)[:, :, ::-1])
    if found.boxes is None or found.txts is None:
        return []
    size = np.array([image.width, image.height], dtype=float)
    corners = [np.asarray(box, dtype=float) / size for box in found.boxes]  # top left, top right, bottom right, bottom left
    slope = _slope(corners)
    lines = []
    for text, places, score in zip(found.txts, corners, found.scores, strict=True):
        text = clean_line(text, LINE_CHARACTERS)
        (x0, y0), (x1, y1) = places.min(axis=0), places.max(axis=0)
        if not text or y1 <= y0:
            continue
        height = float(places[2:, 1].mean() - places[:2, 1].mean())
        middle = float(places[:, 1].mean() - slope * (places[:, 0].mean() - 0.5))
        own = slope if slope and height > 0 else 0.0
        lie = (float(x0), middle - height / 2, float(x1), middle + height / 2) if own else (float(x0), float(y0), float(x1), float(y1))
        lines.append(Line(text, clamped((float(x0), float(y0), float(x1), float(y1))), float(score), lie, own))
    return lines


def _slope(corners: list[np.ndarray]) -> float:
    """How far down the lines run over the picture's width: a scan that lies askew. 0 where it is straight enough."""
    slopes = [(c[1, 1] - c[0, 1]) / (c[1, 0] - c[0, 0]) for c in corners if c[1, 0] - c[0, 0] > 0.15]
    slope = float(np.median(slopes)) if len(slopes) >= 3 else 0.0
    return slope if 0.006 < abs(slope) < 0.3 else 0.0


def _weight(lines: list[Line]) -> float:
    """How much was read, by characters and confidence."""
    return sum(len(line.text) * (line.score - 0.5) * 2 for line in _legible(lines))


def _sideways(lines: list[Line]) -> float:
    """Share of the characters in lines that are higher than wide, single letters apart."""
    long = [line for line in lines if len(line.text) > 2]
    upright = sum(len(line.text) for line in long if line.box[3] - line.box[1] > 1.2 * (line.box[2] - line.box[0]))
    return upright / max(1, sum(len(line.text) for line in long))


def _certain(lines: list[Line]) -> bool:
    """Whether the reader was sure enough that the page does not stand on its head."""
    total = sum(len(line.text) for line in lines)
    return total > 0 and sum(line.score * len(line.text) for line in lines) >= 0.8 * total


def _rows(lines: list[Line]) -> list[list[Line]]:
    """Lines in reading order, those of one height in one row: columns first where a gutter parts the page."""
    if len(lines) > 3:
        band = BAND * sorted(line.lie[3] - line.lie[1] for line in lines)[len(lines) // 2]
        for parts in (_parted(lines, 1, band), _parted(lines, 0, GUTTER)):
            if len(parts) > 1:
                return [row for part in parts for row in _rows(part)]
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda found: found.lie[1] + found.lie[3]):
        middle, height = _middle(line), line.lie[3] - line.lie[1]
        last = rows[-1][-1] if rows else None
        if last is not None and abs(_middle(last) - middle) < 0.5 * height and 0.6 < height / (last.lie[3] - last.lie[1]) < 1.7:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda found: found.lie[0]) for row in rows]


def _parted(lines: list[Line], axis: int, gap: float) -> list[list[Line]]:
    """The lines parted where nothing of them lies for at least `gap`: from top to bottom (axis 1) or left to right (0).

    Side by side only where both sides are columns of several lines; else the cells of a table would be torn apart.
    """
    ordered = sorted(lines, key=lambda line: line.lie[axis])
    parts, end = [[ordered[0]]], ordered[0].lie[axis + 2]
    for line in ordered[1:]:
        if line.lie[axis] - end >= gap:
            parts.append([])
        parts[-1].append(line)
        end = max(end, line.lie[axis + 2])
    if axis == 0 and len(parts) > 1 and not _are_columns(parts):
        return [lines]
    return parts


def _are_columns(parts: list[list[Line]]) -> bool:
    """Whether parts side by side are read one after the other, not row by row as the cells of a table are."""
    if any(len(part) < 2 for part in parts):
        return False
    if all(len(part) >= 4 and sum(len(line.text) for line in part) >= 18 * len(part) for part in parts):
        return True
    fewest = min(parts, key=len)
    others = [line for part in parts if part is not fewest for line in part]
    level = sum(any(abs(_middle(a) - _middle(b)) < 0.25 * (a.lie[3] - a.lie[1]) for b in others) for a in fewest)
    return 2 * level < len(fewest)


def _middle(line: Line) -> float:
    return (line.lie[1] + line.lie[3]) / 2


def _words(rows: list[list[Line]], turned: int, page_height: float) -> list[Placed]:
    words = []
    for number, row in enumerate(rows):
        for line in row:
            x0, y0, x1, y1 = line.box
            step = (x1 - x0) / len(line.text)
            size = (line.lie[3] - line.lie[1]) * page_height
            for start, end, glued in _pieces(line.text):
                left, right = x0 + start * step, x0 + end * step
                down = line.slope * ((left + right) / 2 - (x0 + x1) / 2)
                half = (line.lie[3] - line.lie[1] + abs(line.slope) * (right - left)) / 2
                top, bottom = ((y0 + y1) / 2 + down - half, (y0 + y1) / 2 + down + half) if line.slope else (y0, y1)
                box = _turned_back((left, top, right, bottom), turned)
                words.append(Placed(line.text[start:end], clamped(box), number, size, glued=glued))
    return words


def _pieces(text: str) -> list[tuple[int, int, bool]]:
    """(start, end, no space before) of the words of a line; letters of scripts without spaces each by itself."""
    pieces: list[tuple[int, int, bool]] = []
    for index, character in enumerate(text):
        if character == " ":
            continue
        fresh = index == 0 or text[index - 1] == " "
        alone = writes_without_spaces(character) or (not fresh and writes_without_spaces(text[index - 1]))
        if fresh or alone:
            pieces.append((index, index + 1, not fresh))
        else:
            pieces[-1] = (pieces[-1][0], index + 1, pieces[-1][2])
    return pieces


def _turned_back(box: Box, quarter: int) -> Box:
    """A box of the picture that was turned by `quarter` quarters counter-clockwise, on the picture as it was."""
    x0, y0, x1, y1 = box
    return {0: box, 1: (1 - y1, x0, 1 - y0, x1), 2: (1 - x1, 1 - y1, 1 - x0, 1 - y0), 3: (y0, 1 - x1, y1, 1 - x0)}[quarter]
