"""A page that takes its process down loses no page but itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingestion.domain.errors import Transient
from ingestion.seams.renderer.pdfium import MAX_LOST, page_by_page
from ingestion.seams.sandbox import Bounds

HERE = "tests.ingestion.pdf.children"
BOUNDS = Bounds(memory_bytes=512 * 1024**2, seconds=120)


def _lost(number: int, code: str) -> dict[str, object]:
    return {"number": number, "lost": code}


def test_only_the_culprits_are_lost() -> None:
    found = page_by_page(f"{HERE}:pages", {"deadly": [3, 4]}, [1, 2, 3, 4, 5], BOUNDS, _lost)
    assert [page["number"] for page in found] == [1, 2, 3, 4, 5]
    assert [page.get("lost") for page in found] == [None, None, "parser_died", "parser_died", None]


def test_a_page_that_does_well_alone_is_kept(tmp_path: Path) -> None:
    found = page_by_page(f"{HERE}:pages", {"deadly": [2], "once": str(tmp_path / "died")}, [1, 2, 3], BOUNDS, _lost)
    assert found == [{"number": 1}, {"number": 2}, {"number": 3}]


def test_a_file_that_cannot_even_be_opened_is_not_tried_page_by_page() -> None:
    with pytest.raises(Transient) as raised:
        page_by_page(f"{HERE}:never_opens", {}, [1, 2, 3], BOUNDS, _lost)
    assert raised.value.code == "parser_died"


def test_a_file_of_deadly_pages_is_given_up() -> None:
    numbers = list(range(1, MAX_LOST + 3))
    with pytest.raises(Transient):
        page_by_page(f"{HERE}:pages", {"deadly": numbers}, numbers, BOUNDS, _lost)
