"""Makes the sample documents of a seed, and the questions with the answers that follow from them."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from documents import MAKERS  # noqa: E402
from facts import draw_facts  # noqa: E402
from questions import questions_of  # noqa: E402


def generate(seed: int, folder: Path) -> dict:
    """Write the PDFs and `questions.json` into `folder`; returns what `questions.json` holds."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = draw_facts(seed)
    documents, places = [], {}
    for name, make in MAKERS.items():
        pages, places[name] = make(folder / name, facts)
        documents.append({"file": name, "pages": pages})
    value = {"seed": seed, "company": facts.company, "documents": documents, "questions": questions_of(facts, places)}
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
