"""Questions as an employee would ask them, with the parts that a right answer has and the pages that carry it."""

from __future__ import annotations

from facts import Facts

ASKED = {"grease", "pressure", "tank", "remote-and-equipment", "absent"}


def questions_of(facts: Facts, places: dict[str, dict[str, int]]) -> list[dict]:
    """All questions; `places` maps a file to the physical pages of its facts."""
    f = facts

    def at(*spots: tuple[str, str]) -> list[list]:
        return [[file, places[file][name]] for file, name in spots]

    rows = [
        ("grease", "text", f"How often must the main bearing of the {f.product} be greased?",
         [f"{f.grease_hours} operating hours"], at(("operating-manual.pdf", "grease"))),
        ("pressure", "table", f"What is the maximum pressure of the model {f.asked_model.name}?",
         [str(f.asked_model.pressure)], at(("operating-manual.pdf", "models"))),
        ("tank", "scan", "At how many bar did the tank pass the pressure test?",
         [f"{f.test_pressure:.1f} bar"], at(("inspection-certificate.pdf", "tank"))),
        ("remote-and-equipment", "two_pages",
         "Who approves requests for remote work from abroad, and what is the limit for home office equipment?",
         [f.remote_approver, f"{f.equipment_limit} euro"],
         at(("employee-handbook.pdf", "approver"), ("employee-handbook.pdf", "equipment"))),
        ("absent", "unanswerable", f"How long does the warranty of the {f.absent_product} last?", [], []),
        ("warranty", "text", f"How long does the warranty of the {f.product} last?",
         [f"{f.warranty_months} months"], at(("operating-manual.pdf", "warranty"))),
        ("sabbatical", "label", "How many weeks before it begins has a sabbatical to be requested?",
         [f"{f.notice_weeks} weeks"], at(("employee-handbook.pdf", "notice"))),
        ("growth", "text", f"By how many percent did revenue rise in {f.year}?",
         [f"{f.growth:.1f} percent"], at(("annual-report.pdf", "growth"))),
        ("region", "table", f"What was the revenue in the region {f.asked_region}?",
         [f"{f.regions[f.asked_region]:.1f}"], at(("annual-report.pdf", "regions"))),
        ("noise", "figure", f"What is the noise level of the {f.asked_model.name} at full load?",
         [f"{f.noise[f.asked_model.name]} dB"], at(("operating-manual.pdf", "noise"))),
        ("hotel", "text", "Up to how many euro is a hotel night paid?", [f"{f.hotel_limit} euro"], at(("travel-policy.pdf", "hotel"))),
        ("penalty", "text", f"What penalty does {f.supplier} pay for each day of late delivery?",
         [f"{f.penalty_percent:g} percent"], at(("supply-agreement.pdf", "penalty"))),
        ("cause", "text", f"What was the cause of the outage of {f.incident_date}?",
         [f.incident_cause], at(("incident-report.pdf", "cause"))),
    ]  # fmt: skip
    return [
        {
            "id": name,
            "kind": kind,
            "question": question,
            "must_contain": parts,
            "answer": "; ".join(parts),
            "documents": sorted({file for file, _ in pages}),
            "pages": pages,
            "verdict": "answered" if pages else "not_in_documents",
            "ask": name in ASKED,
        }
        for name, kind, question, parts, pages in rows
    ]
