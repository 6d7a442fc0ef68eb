"""Evaluation sets: a folder with `pdfs/`, `docs.jsonl` and `questions.jsonl`, questions with gold pages (1-based, physical)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """`pages` is empty for an unanswerable question."""

    id: str
    document: str
    question: str
    answer: str
    pages: frozenset[int]
    unanswerable: bool
    source: str
    evidence: tuple[str, ...]
    disputed: bool
    text_layer: str  # of its document: full, sparse or none


@dataclass(frozen=True, slots=True)
class GoldSet:
    folder: Path
    documents: dict[str, dict]
    questions: tuple[GoldQuestion, ...]

    def pdf(self, document: str) -> Path:
        return self.folder / "pdfs" / document


def read_gold_set(folder: Path) -> GoldSet:
    """The set in `folder`. Raises `ValueError` that names the file and line that cannot be read."""
    documents = {row["doc"]: row for row in _rows(folder / "docs.jsonl")}
    questions = tuple(
        GoldQuestion(
            id=row["id"],
            document=row["doc"],
            question=row["question"],
            answer=str(row["answer"]),
            pages=frozenset(row["evidence_pages"]),
            unanswerable=bool(row["unanswerable"]),
            source=row["source"],
            evidence=tuple(row.get("evidence_sources") or ("unknown",)),
            disputed=bool(row.get("pages_disputed")),
            text_layer=str(documents.get(row["doc"], {}).get("text_layer", "unknown")),
        )
        for row in _rows(folder / "questions.jsonl")
    )
    missing = {q.document for q in questions} - set(documents)
    if missing:
        raise ValueError(f"questions name documents that docs.jsonl does not: {sorted(missing)[:3]}")
    return GoldSet(folder, documents, questions)


def _rows(path: Path) -> list[dict]:
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}, line {number}: {error}") from error
    return rows


def subset_of(questions: tuple[GoldQuestion, ...], documents: int) -> tuple[GoldQuestion, ...]:
    """The questions of the first `documents` documents by name: the same subset every time."""
    chosen = sorted({question.document for question in questions})[:documents]
    return tuple(question for question in questions if question.document in chosen)
