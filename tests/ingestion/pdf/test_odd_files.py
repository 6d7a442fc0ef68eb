"""Files that break ingestion: each ends as its row allows, with a true reason, and what is read of it is clean."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from pathlib import Path

import pytest

from ingestion.domain.errors import DOCUMENT_FAILURES, IngestionError
from ingestion.domain.pages import Inspection, ReadPage, RenderedPage, TextSource
from ingestion.seams.parser.pdfium_text import PdfiumTextParser
from ingestion.seams.renderer import Limits
from ingestion.seams.renderer.pdfium import PdfiumRenderer
from tests.ingestion.pdf.odd_outcomes import OUTCOMES, PHRASES, PICTURES

ODD = Path(__file__).resolve().parents[4] / "shared" / "odd"
LIMITS = Limits(memory_bytes=2 * 1024**3, seconds=240, max_pages=10_000)
FIRST = 2  # pages of each file that are looked at
RENDERER = PdfiumRenderer()

pytestmark = pytest.mark.skipif(not ODD.exists(), reason="../shared/odd is not beside this checkout")


def _inspect(name: str) -> Inspection:
    return RENDERER.inspect(ODD / "files" / name, LIMITS)


def _look(name: str, numbers: list[int], folder: Path, ocr: bool = False) -> tuple[list[RenderedPage], list[ReadPage]]:
    path = ODD / "files" / name
    drawn = RENDERER.render(path, numbers, folder, 1500, LIMITS)
    images: Mapping[int, Path] = {page.number: Path(page.path) for page in drawn if page.path}
    parser = PdfiumTextParser() if ocr else PdfiumTextParser(ocr=None)
    return drawn, parser.read(path, numbers, images, LIMITS)


def test_each_row_of_the_manifest_has_its_outcome() -> None:
    rows = [json.loads(line)["file"] for line in (ODD / "manifest.jsonl").read_text().splitlines()]
    assert sorted(rows) == sorted(OUTCOMES)
    assert {code for codes in OUTCOMES.values() for code in codes} <= set(DOCUMENT_FAILURES) | {"published"}


@pytest.mark.parametrize("name", sorted(OUTCOMES))
def test_a_file_ends_as_it_may(name: str, tmp_path: Path) -> None:
    try:
        found = _inspect(name)
    except IngestionError as error:
        assert error.code in OUTCOMES[name] and error.message
        return
    drawn, read = _look(name, [page.number for page in found.pages[:FIRST]], tmp_path)
    assert [page.number for page in drawn] == [page.number for page in read]
    for page in drawn:
        assert page.path is None or max(page.width_px, page.height_px) <= 1500
        assert page.path is not None or page.warnings
    for page in read:
        _is_clean(page)
        if (name, page.number) in PHRASES:
            assert page.source is TextSource.LAYER and PHRASES[name, page.number] in page.text.replace("\n", " ")
    content = any(p.path is not None and not p.blank for p in drawn) or any(p.source is not TextSource.NONE for p in read)
    assert ("published" if content else "no_content") in OUTCOMES[name]


def _is_clean(page: ReadPage) -> None:
    """Nothing that a database, JSON or a display chokes on; every place on the page and every range in the text."""
    assert all(c == "\n" or unicodedata.category(c) not in ("Cc", "Cs", "Cn") for c in page.text)
    assert not {"\u202e", "\u202d", "\u2066", "\ufeff", "\uffff"} & set(page.text)
    json.loads(json.dumps(page.text).encode())
    end = 0
    for word in page.words:
        assert end <= word.start < word.end <= len(page.text) and not any(c.isspace() for c in page.text[word.start : word.end])
        assert all(0 <= side <= 1 for side in word.box) and word.box[0] <= word.box[2] and word.box[1] <= word.box[3]
        end = word.end
    for block in page.blocks:
        assert 0 <= block.start <= block.end <= len(page.text)


def test_a_page_deep_in_a_long_file_is_read_without_ocr(tmp_path: Path) -> None:
    _, [page] = _look("gen__pages-5000.pdf", [4321], tmp_path, ocr=True)
    assert page.number == 4321 and page.source is TextSource.LAYER and "M04321" in page.text


@pytest.mark.parametrize(("name", "number"), sorted(PICTURES), ids=lambda value: str(value)[:24])
def test_a_picture_is_read(name: str, number: int, tmp_path: Path) -> None:
    _, [page] = _look(name, [number], tmp_path, ocr=True)
    assert page.source is TextSource.OCR and PICTURES[name, number] in page.text
    _is_clean(page)


def test_what_a_reader_cannot_see_is_not_read(tmp_path: Path) -> None:
    _, [page] = _look("gen__white-text-injection.pdf", [1], tmp_path)
    assert "ignore" not in page.text.lower() and "hidden_text_dropped" in page.warnings
    _, [page] = _look("docling__invisible_text_layer.pdf", [1], tmp_path)
    assert "Invisible" not in page.text
    _, pages = _look("pdfium__cropped_text.pdf", [1, 2], tmp_path)
    assert all("Hello" not in page.text and "text_outside_the_page_dropped" in page.warnings for page in pages)


def test_labels_outlines_attachments_and_permissions() -> None:
    assert [page.label for page in _inspect("pdfium__page_labels.pdf").pages][:4] == ["i", "ii", "1", "2"]
    assert [page.number for page in _inspect("qpdf__11-pages-with-labels.pdf").pages] == list(range(1, 12))
    assert len(_inspect("pikepdf__cyclic-toc.pdf").outline) <= 1
    outline = _inspect("pypdf__outlines-with-invalid-destinations.pdf").outline
    assert outline and all(1 <= entry.page <= 4 for entry in outline)
    assert _inspect("pdfium__embedded_attachments.pdf").attachments == ("1.txt", "attached.pdf")
    assert _inspect("unstructured__copy-protected.pdf").permissions_restricted
    assert not _inspect("qpdf__hybrid-xref.pdf").permissions_restricted
    assert _inspect("gen__truncated-60pct.pdf").repaired and not _inspect("gen__same-content-A.pdf").repaired


def test_five_thousand_pages_are_counted_and_a_password_opens() -> None:
    assert _inspect("gen__pages-5000.pdf").page_count == 5000
    with pytest.raises(IngestionError) as raised:
        RENDERER.inspect(ODD / "files" / "gen__pages-5000.pdf", Limits(2 * 1024**3, 60, max_pages=4999))
    assert raised.value.code == "too_many_pages"
    assert RENDERER.inspect(ODD / "files" / "pypdf__r6-user-password.pdf", LIMITS, "asdfzxcv").page_count == 1
