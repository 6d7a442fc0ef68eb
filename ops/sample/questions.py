"""Questions as an employee would ask them, with the parts that a right answer has and the pages that carry it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from books import Made
from facts import Facts

ASKED = {"grease", "pressure", "tank", "remote-and-equipment", "absent"}
HANDBOOK, MANUAL, REPORT = "employee-handbook.pdf", "operating-manual.pdf", "annual-report.pdf"


@dataclass(frozen=True)
class Question:
    """`spots` are (file, fact); `parts` are what a right answer must contain, to the letter."""

    id: str
    kind: str
    text: str
    parts: tuple[str, ...] = ()
    spots: tuple[tuple[str, str], ...] = ()
    verdict: str = "answered"


def questions_of(facts: Facts, made: Mapping[str, Made]) -> list[dict]:
    """All questions, the five that the quickstart asks first."""
    return [_row(question, made) for question in (*_asked(facts), *_on_text(facts, made), *_on_figures(facts, made), *_unanswerable(facts))]


def _asked(f: Facts) -> list[Question]:
    return [
        Question("grease", "text", "After how many operating hours must the main bearing be greased?",
                 (f"{f.grease_hours} operating hours",), ((MANUAL, "grease"),)),
        Question("pressure", "table", f"What is the rated pressure of the {f.asked_model.name}?",
                 (f.asked_model.pressure,), ((MANUAL, "models"),)),
        Question("tank", "scan", "At what pressure was the storage tank tested?",
                 (f"{f.test_pressure} bar",), (("inspection-certificate.pdf", "tank"),)),
        Question("remote-and-equipment", "two_pages",
                 "Who approves remote work from abroad, and how much does the company pay for home office equipment?",
                 (f.remote_approver, f"{f.equipment_limit} euro"), ((HANDBOOK, "approver"), (HANDBOOK, "equipment"))),
        Question("absent", "unanswerable", f"How long does the warranty of the {f.absent_product} last?", verdict="not_in_documents"),
    ]  # fmt: skip


def _on_text(f: Facts, made: Mapping[str, Made]) -> list[Question]:
    label = made[HANDBOOK].labels["notice"]
    return [
        Question("warranty", "text", f"How many months does the warranty of the {f.product} last?",
                 (f"{f.warranty_months} months",), ((MANUAL, "warranty"),)),
        Question("sabbatical", "label",
                 f"How many weeks before it begins must a sabbatical be requested, according to page {label} of the handbook?",
                 (f"{f.notice_weeks} weeks",), ((HANDBOOK, "notice"),)),
        Question("growth", "text", f"By how many percent did revenue increase in {f.year}?",
                 (f"{f.growth} percent",), ((REPORT, "growth"),)),
        Question("hotel", "text", "Up to how many euro does the company pay for a night in a hotel?",
                 (f"{f.hotel_limit} euro",), (("travel-policy.pdf", "hotel"),)),
        Question("penalty", "text", f"What penalty does {f.supplier} pay for each day of late delivery?",
                 (f"{f.penalty} percent",), (("supply-agreement.pdf", "penalty"),)),
        Question("cause", "text", f"What caused the outage of {f.incident_date}?",
                 (f.incident_cause,), (("incident-report.pdf", "cause"),)),
        Question("downtime", "text", f"For how many minutes was production in {f.city} interrupted?",
                 (f"{f.downtime_minutes} minutes",), (("incident-report.pdf", "downtime"),)),
    ]  # fmt: skip


def _on_figures(f: Facts, made: Mapping[str, Made]) -> list[Question]:
    table, figure = made[REPORT].tables["regions"], made[MANUAL].figures["noise"]
    return [
        Question("region", "table",
                 f"What was the revenue of {f.asked_region} in {f.year}, according to Table {table} of the annual report?",
                 (f.sales[f.asked_region][2],), ((REPORT, "regions"),)),
        Question("noise", "figure", f"What noise level at full load does Figure {figure} of the manual show for the {f.asked_model.name}?",
                 (f"{f.asked_model.noise} dB",), ((MANUAL, "noise"),)),
    ]  # fmt: skip


def _unanswerable(f: Facts) -> list[Question]:
    """Nothing but words that do stand in the documents, yet nobody says it: that it is missing cannot be proven from the words."""
    text = f"For how many seconds does the alarm lamp of the {f.product} blink?"
    return [Question("lamp", "unanswerable", text, verdict="not_found_within_budget")]


def _row(question: Question, made: Mapping[str, Made]) -> dict:
    return {
        "id": question.id,
        "kind": question.kind,
        "question": question.text,
        "must_contain": list(question.parts),
        "answer": "; ".join(question.parts),
        "documents": sorted({file for file, _ in question.spots}),
        "pages": [[file, made[file].places[fact]] for file, fact in question.spots],
        "verdict": question.verdict,
        "ask": question.id in ASKED,
    }
