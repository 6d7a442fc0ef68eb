"""Each fault that others reported has a test here, or a reason why it cannot arise."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = (1, 2, 3, 5, 7, 9, 11, 12, 13, 14, 16, 17, 19, 21, 22, 23, 25, 26, 28, 29, 30, 32, 34, 36, 37, 38, 40, 41, 43, 44, 46, 47, 48)
SECTIONS += (50, 51, 52, 54, 55, 56, 57, 58, 59, 61, 64, 66, 67, 68, 69, 70, 84, 86, 89, 91)


def _rows() -> dict[int, str]:
    text = (ROOT / "ops" / "reported-faults.md").read_text(encoding="utf-8")
    return {int(number): rest for number, rest in re.findall(r"^\| (\d+) \|(.*)\|$", text, re.MULTILINE)}


def test_every_entry_is_there() -> None:
    assert sorted(_rows()) == sorted(SECTIONS)


def _tests() -> set[str]:
    return {name for file in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", file.read_text("utf-8"))}


def test_every_test_that_is_named_exists() -> None:
    named = {name for row in _rows().values() for name in re.findall(r"`(test_\w+)`", row)}
    assert all("`test_" in row for row in _rows().values())
    assert named - _tests() == set()


def test_every_behaviour_that_is_a_must_has_its_test() -> None:
    text = (ROOT / "ops" / "threat-model.md").read_text(encoding="utf-8")
    table = text.split("## What must hold", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| (?!-)(.+?) \| (.+) \|$", table, re.MULTILINE)[1:]
    assert len(rows) == 11
    for behaviour, shown in rows:
        named = set(re.findall(r"`(test_\w+)`", shown))
        assert (named and named <= _tests()) or shown.startswith("Does not arise: "), behaviour
