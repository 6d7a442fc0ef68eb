"""Makes the sample documents of a seed, and the questions with the answers that follow from them."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # so that it runs from anywhere, and can be loaded by its path

from books import Made
from certificate import certificate
from facts import draw_facts
from handbook import handbook
from manual import manual
from papers import annual_report, incident_report, supply_agreement, travel_policy
from questions import questions_of

MAKERS = {
    "employee-handbook.pdf": handbook,
    "operating-manual.pdf": manual,
    "annual-report.pdf": annual_report,
    "travel-policy.pdf": travel_policy,
    "supply-agreement.pdf": supply_agreement,
    "incident-report.pdf": incident_report,
    "inspection-certificate.pdf": certificate,
}


def generate(seed: int, folder: Path) -> dict:
    """Write the PDFs and `questions.json` into `folder`; returns what `questions.json` holds."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = draw_facts(seed)
    made: dict[str, Made] = {name: make(folder / name, facts) for name, make in MAKERS.items()}
    value = {
        "seed": seed,
        "company": facts.company,
        "documents": [{"file": name, "title": one.title, "pages": one.pages, "restricted": False} for name, one in made.items()],
        "questions": questions_of(facts, made),
    }
    (folder / "questions.json").write_text(json.dumps(value, indent=1, ensure_ascii=False), encoding="utf-8")
    return value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="another seed is another company (default 1)")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="where the PDFs and questions.json go")
    parser.add_argument("--json", action="store_true", help="print what questions.json holds")
    options = parser.parse_args()
    value = generate(options.seed, options.output)
    if options.json:
        print(json.dumps(value, indent=1, ensure_ascii=False))
    else:
        print(f"{len(value['documents'])} documents of {value['company']} in {options.output}")


if __name__ == "__main__":
    main()
