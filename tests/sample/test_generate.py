"""The sample documents say what the questions ask, where they say it, and nowhere else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pypdfium2 as pdfium
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "ops" / "sample" / "generate.py"
SEEDS = (1, 2, 7)


def _generate(seed: int, folder: Path) -> dict:
    subprocess.run([sys.executable, str(SCRIPT), "--seed", str(seed), "--output", str(folder)], check=True, capture_output=True)
    return json.loads((folder / "questions.json").read_text(encoding="utf-8"))


def _texts(path: Path) -> list[str]:
    with pdfium.PdfDocument(path) as pdf:
        return [" ".join(page.get_textpage().get_text_range().split()) for page in pdf]


@pytest.fixture(scope="module", params=SEEDS)
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    folder = tmp_path_factory.mktemp(f"seed{request.param}")
    return folder, _generate(request.param, folder)


def test_each_answer_stands_on_its_page_and_on_no_other(sample: tuple[Path, dict]) -> None:
    folder, value = sample
    texts = {path.name: _texts(path) for path in folder.glob("*.pdf")}
    for question in value["questions"]:
        if question["kind"] in ("scan", "unanswerable"):
            continue
        gold = {(file, page) for file, page in question["pages"]}
        carrying = {
            part: {(file, n) for file, pages in texts.items() for n, text in enumerate(pages, 1) if _holds(text, part, question)}
            for part in question["must_contain"]
        }
        assert all(places and places <= gold for places in carrying.values()), (question["id"], carrying)


def _holds(text: str, part: str, question: dict) -> bool:
    if question["kind"] in ("table", "figure"):  # a bare number counts beside the name that is asked for only
        subject = next(word for word in question["question"].rstrip("?").split(" of ")[-1].split(" in the region ")[-1:])
        subject = re.sub(r"^(the model |the )|( at full load)$", "", subject)
        return f"{subject} " in text and re.search(rf"(?<![\d.]){re.escape(part)}(?![\d.])", text) is not None
    return part in text


def test_the_absent_name_stands_nowhere(sample: tuple[Path, dict]) -> None:
    folder, value = sample
    name = next(q for q in value["questions"] if q["id"] == "absent")["question"].split(" of the ")[1].split(" ")[0]
    assert not any(name in text for path in folder.glob("*.pdf") for text in _texts(path))


def test_shape(sample: tuple[Path, dict]) -> None:
    folder, value = sample
    pages = {d["file"]: d["pages"] for d in value["documents"]}
    assert len(pages) >= 6 and sum(count > 60 for count in pages.values()) >= 2
    assert sum(q["ask"] for q in value["questions"]) == 5 and len(value["questions"]) >= 10
    with pdfium.PdfDocument(folder / "employee-handbook.pdf") as pdf:
        assert [pdf.get_page_label(n) for n in (0, 3, 4)] == ["i", "iv", "1"]
        assert len(list(pdf.get_toc())) == 20
    assert _texts(folder / "inspection-certificate.pdf") == [""]


def test_the_same_seed_gives_the_same_bytes_and_another_other_facts(tmp_path: Path) -> None:
    first, again, other = (_generate(seed, tmp_path / name) for seed, name in ((5, "a"), (5, "b"), (6, "c")))
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name
    assert first == again and first["company"] != other["company"]
    answers = [{q["id"]: q["answer"] for q in value["questions"]} for value in (first, other)]
    assert sum(answers[0][name] != answers[1][name] for name in answers[0]) >= 9
