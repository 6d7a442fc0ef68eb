"""The sample documents say what the questions ask, where they say it, and nowhere else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from pypdfium2 import raw

SCRIPT = Path(__file__).resolve().parents[2] / "ops" / "sample" / "generate.py"
SEEDS = (1, 2, 7)

Sample = tuple[Path, dict, dict[str, list[str]]]


def _generate(seed: int, folder: Path) -> dict:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--seed", str(seed), "--output", str(folder), "--json"], check=True, capture_output=True, text=True
    )
    value = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    assert json.loads(done.stdout) == value
    return value


def _texts(path: Path) -> list[str]:
    with pdfium.PdfDocument(path) as pdf:
        return [" ".join(page.get_textpage().get_text_range().split()) for page in pdf]


@pytest.fixture(scope="module", params=SEEDS)
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    folder = tmp_path_factory.mktemp(f"seed{request.param}")
    value = _generate(request.param, folder)
    return folder, value, {path.name: _texts(path) for path in folder.glob("*.pdf")}


def _holding(texts: dict[str, list[str]], part: str) -> set[tuple[str, int]]:
    """Pages that hold the part, not as the tail or the head of a longer number or word."""
    pattern = re.compile(rf"(?<![\w.]){re.escape(part)}(?![\w]|\.\d)")
    return {(file, number) for file, pages in texts.items() for number, text in enumerate(pages, 1) if pattern.search(text)}


def test_each_part_of_an_answer_stands_on_one_gold_page_and_on_no_other_page(sample: Sample) -> None:
    _, value, texts = sample
    checked = 0
    for question in value["questions"]:
        if question["verdict"] != "answered" or question["kind"] == "scan":
            continue
        places = [_holding(texts, part) for part in question["must_contain"]]
        assert sorted(map(tuple, question["pages"])) == sorted(place for found in places for place in found), question["id"]
        checked += 1
    assert checked >= 8


def test_the_facts_of_a_scan_stand_in_no_text_layer(sample: Sample) -> None:
    folder, value, texts = sample
    (scan,) = (q for q in value["questions"] if q["kind"] == "scan")
    assert not _holding(texts, scan["must_contain"][0])
    file, number = scan["pages"][0]
    assert texts[file][number - 1] == ""
    with pdfium.PdfDocument(folder / file) as pdf:
        picture = next(pdf[number - 1].get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE]))
        assert min(picture.get_px_size()) >= 1600  # 200 dots per inch


def test_the_absent_name_stands_nowhere(sample: Sample) -> None:
    _, value, texts = sample
    (absent,) = (q for q in value["questions"] if q["verdict"] == "not_in_documents")
    name = absent["question"].split(" of the ")[1].split()[0]
    assert len(name) > 5 and not any(name.lower() in text.lower() for pages in texts.values() for text in pages)


def test_questions_cover_what_they_are_for(sample: Sample) -> None:
    _, value, texts = sample
    questions = value["questions"]
    assert len(questions) >= 10 and len({q["question"] for q in questions}) == len(questions)
    kinds = ["scan", "table", "text", "two_pages", "unanswerable"]
    assert sorted(q["kind"] for q in questions if q["ask"]) == kinds
    assert {q["kind"] for q in questions} == {*kinds, "figure", "label"}
    assert {q["verdict"] for q in questions} == {"answered", "not_in_documents", "not_found_within_budget"}
    for question in questions:
        assert bool(question["pages"]) == bool(question["must_contain"]) == (question["verdict"] == "answered")
        assert all(1 <= number <= len(texts[file]) for file, number in question["pages"])
        assert not any(question["question"].rstrip("?") in text for pages in texts.values() for text in pages)


def test_two_halves_stand_far_apart(sample: Sample) -> None:
    _, value, _ = sample
    (question,) = (q for q in value["questions"] if q["kind"] == "two_pages")
    (file, first), (other, second) = question["pages"]
    assert file == other and abs(first - second) > 20


def test_two_documents_are_long_and_all_say_their_length(sample: Sample) -> None:
    _, value, texts = sample
    assert {d["file"]: d["pages"] for d in value["documents"]} == {file: len(pages) for file, pages in texts.items()}
    assert len(texts) >= 7 and sum(len(pages) > 60 for pages in texts.values()) >= 2
    assert all(d["title"] and d["restricted"] is False for d in value["documents"])


def test_printed_labels_differ_from_indices_and_are_what_is_printed(sample: Sample) -> None:
    folder, value, texts = sample
    with pdfium.PdfDocument(folder / "employee-handbook.pdf") as pdf:
        labels = [pdf.get_page_label(index) for index in range(len(pdf))]
    front = labels.index("1")
    assert front >= 4 and labels[:4] == ["i", "ii", "iii", "iv"] and labels[front:] == [str(n) for n in range(1, len(labels) - front + 1)]
    assert all(text.endswith(f" {label}") for text, label in list(zip(texts["employee-handbook.pdf"], labels, strict=True))[1:])
    (question,) = (q for q in value["questions"] if q["kind"] == "label")
    assert f"page {labels[question['pages'][0][1] - 1]} of" in question["question"]


def test_contents_and_bookmarks_lead_to_the_pages(sample: Sample) -> None:
    folder, _, texts = sample
    for file, chapters in (("employee-handbook.pdf", 20), ("operating-manual.pdf", 20)):
        with pdfium.PdfDocument(folder / file) as pdf:
            labels = [pdf.get_page_label(index) or str(index + 1) for index in range(len(pdf))]
            entries = [(b.level, b.get_title(), b.get_dest().get_index()) for b in pdf.get_toc()]
        assert sum(level == 0 and title[0].isdigit() for level, title, _ in entries) >= chapters
        contents = " ".join(text for text in texts[file][:4] if text.startswith("Contents"))
        for _, title, index in entries:
            assert title in texts[file][index]
            if title[0].isdigit():
                assert re.search(rf"{re.escape(title)} \.+ {labels[index]}(?!\d)", contents), title


def test_captions_are_numbered_in_order(sample: Sample) -> None:
    _, value, texts = sample
    manual, report = "operating-manual.pdf", "annual-report.pdf"
    for file, kind, least in ((manual, "Figure", 3), (manual, "Table", 3), (report, "Table", 2), (report, "Figure", 1)):
        numbers = [int(n) for text in texts[file] for n in re.findall(rf"\b{kind} (\d+): ", text)]
        assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) >= least
    for question in value["questions"]:
        named = re.search(r"(?:Figure|Table) \d+", question["question"])
        if named:
            file, number = question["pages"][0]
            assert f"{named.group()}: " in texts[file][number - 1]


def test_pages_differ(sample: Sample) -> None:
    _, _, texts = sample
    pages = [text for file, pages in texts.items() if file != "inspection-certificate.pdf" for text in pages]
    assert len(set(pages)) == len(pages)
    sentences = [s for text in pages for s in re.split(r"(?<=\.) ", text) if len(s) > 30]
    assert len(set(sentences)) > 0.6 * len(sentences)


def test_the_same_seed_gives_the_same_bytes_and_another_other_facts(tmp_path: Path) -> None:
    first, again, other = (_generate(seed, tmp_path / name) for seed, name in ((5, "a"), (5, "b"), (6, "c")))
    assert first == again and {path.name for path in (tmp_path / "a").iterdir()} == {path.name for path in (tmp_path / "b").iterdir()}
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name
    assert first["company"] != other["company"]
    pairs = list(zip(first["questions"], other["questions"], strict=True))
    assert sum(a["answer"] == b["answer"] for a, b in pairs if a["answer"]) <= 1
    assert sum(a["pages"] == b["pages"] for a, b in pairs if a["kind"] != "scan" and a["pages"]) <= 5


def test_any_seed_makes_a_company(tmp_path: Path) -> None:
    """What could not be drawn or would not fit onto a page would raise."""
    assert len({_generate(seed, tmp_path / str(seed))["company"] for seed in (0, 11, 12, 424242)}) >= 2
