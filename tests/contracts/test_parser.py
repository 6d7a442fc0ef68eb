"""The contract of the parser, held by the fake and by PDFium's text layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ingestion.domain.pages import TextSource
from ingestion.seams.parser import Parser
from ingestion.seams.parser.fake import TextParser
from ingestion.seams.parser.pdfium_text import PdfiumTextParser
from ingestion.seams.renderer import Renderer
from ingestion.seams.renderer.fake import TextRenderer
from ingestion.seams.renderer.pdfium import PdfiumRenderer
from tests.contracts.test_renderer import LIMITS, _as_pdf, _as_text


@dataclass(frozen=True)
class Case:
    parser: Parser
    renderer: Renderer
    document: Callable[[Path, list[str]], Path]


@pytest.fixture(params=["fake", "pdfium-text"])
def case(request: pytest.FixtureRequest) -> Case:
    return {
        "fake": Case(TextParser(), TextRenderer(), _as_text),
        "pdfium-text": Case(PdfiumTextParser(), PdfiumRenderer(), _as_pdf),
    }[request.param]


def test_it_says_who_it_is(case: Case) -> None:
    assert case.parser.name and isinstance(case.parser.version, str) and case.parser.version


def test_pages_come_in_the_order_asked_with_words_that_stand_in_the_text(case: Case, tmp_path: Path) -> None:
    source = case.document(tmp_path / "d", ["The limit is 16 bar.", "Nothing else.", ""])
    drawn = case.renderer.render(source, [2, 1, 3], tmp_path, 600, LIMITS)
    images = {page.number: Path(page.path) for page in drawn if page.path}
    pages = case.parser.read(source, [2, 1, 3], images, LIMITS)
    assert [page.number for page in pages] == [2, 1, 3]
    assert [page.text for page in pages] == ["Nothing else.", "The limit is 16 bar.", ""]
    assert [page.source for page in pages] == [TextSource.LAYER, TextSource.LAYER, TextSource.NONE]
    assert [pages[1].text[word.start : word.end] for word in pages[1].words] == ["The", "limit", "is", "16", "bar."]
    for page in pages:
        assert all(0 <= word.box[0] <= word.box[2] <= 1 and 0 <= word.box[1] <= word.box[3] <= 1 for word in page.words)
        covered = {i for block in page.blocks for i in range(block.start, block.end)}
        assert {i for word in page.words for i in range(word.start, word.end)} <= covered


def test_pages_are_read_without_pictures(case: Case, tmp_path: Path) -> None:
    [page] = case.parser.read(case.document(tmp_path / "d", ["Words"]), [1], {}, LIMITS)
    assert page.text == "Words" and page.source is TextSource.LAYER
