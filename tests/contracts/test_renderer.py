"""The contract of the renderer, held by the fake and by PDFium."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from ingestion.domain.errors import IngestionError
from ingestion.seams.renderer import Limits, Renderer
from ingestion.seams.renderer.fake import TextRenderer
from ingestion.seams.renderer.pdfium import PdfiumRenderer

LIMITS = Limits(memory_bytes=1024**3, seconds=60, max_pages=10)


@dataclass(frozen=True)
class Case:
    renderer: Renderer
    document: Callable[[Path, list[str]], Path]


def _as_text(path: Path, pages: list[str]) -> Path:
    path.write_bytes("\f".join(pages).encode())
    return path


def _as_pdf(path: Path, pages: list[str]) -> Path:
    canvas = Canvas(str(path), pagesize=(612, 792))
    for text in pages:
        canvas.drawString(72, 700, text)
        canvas.showPage()
    canvas.save()
    return path


@pytest.fixture(params=["fake", "pdfium"])
def case(request: pytest.FixtureRequest) -> Case:
    return {"fake": Case(TextRenderer(), _as_text), "pdfium": Case(PdfiumRenderer(), _as_pdf)}[request.param]


def test_it_says_who_it_is(case: Case) -> None:
    assert case.renderer.name and isinstance(case.renderer.version, str) and case.renderer.version


def test_pages_are_counted_from_one(case: Case, tmp_path: Path) -> None:
    found = case.renderer.inspect(case.document(tmp_path / "d", ["One", "Two", "Three"]), LIMITS)
    assert [page.number for page in found.pages] == [1, 2, 3]
    assert all(page.label and page.width > 0 and page.height > 0 for page in found.pages)


def test_too_many_pages_are_refused(case: Case, tmp_path: Path) -> None:
    with pytest.raises(IngestionError) as raised:
        case.renderer.inspect(case.document(tmp_path / "d", ["x"] * 11), LIMITS)
    assert raised.value.code == "too_many_pages"


def test_one_picture_for_each_page_asked_in_that_order(case: Case, tmp_path: Path) -> None:
    source, out = case.document(tmp_path / "d", ["One", "Two", ""]), tmp_path / "out"
    out.mkdir()
    drawn = case.renderer.render(source, [3, 1], out, 400, LIMITS)
    assert [page.number for page in drawn] == [3, 1] and [page.blank for page in drawn] == [True, False]
    for page in drawn:
        assert page.path is not None and Path(page.path).parent == out and Path(page.path).read_bytes()
        assert 0 < max(page.width_px, page.height_px) <= 400


def test_a_part_of_a_page_is_bytes(case: Case, tmp_path: Path) -> None:
    assert case.renderer.crop(case.document(tmp_path / "d", ["One"]), 1, (0.1, 0.1, 0.6, 0.2), 300, LIMITS)
