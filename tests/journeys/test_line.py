"""The whole line, from a folder of PDFs to evidenced answers, on the embedded default and by the commands that a person types."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from docmemo_site.embedded import process
from docmemo_site.embedded.home import Home
from docmemo_site.management.commands.quickstart import outcome_is_right
from tests.journeys.installation import Installation


def _sample(installation: Installation, seed: int = 1) -> dict:
    return json.loads((installation.home / "sample" / str(seed) / "questions.json").read_text(encoding="utf-8"))


def test_five_questions_end_as_they_should(quickstarted: Installation) -> None:
    asked = [q for q in _sample(quickstarted)["questions"] if q["ask"]]
    assert len(asked) == 5 and sum(q["verdict"] != "answered" for q in asked) == 1


def test_another_seed_ends_as_it_should(quickstarted: Installation) -> None:
    done = quickstarted.run("quickstart", "--no-serve", "--seed", "2")
    assert done.code == 0, done.output[-3000:] + done.errors[-2000:]
    assert _sample(quickstarted, 2)["company"] != _sample(quickstarted, 1)["company"]


def test_an_answer_carries_its_evidence(quickstarted: Installation) -> None:
    question = next(q for q in _sample(quickstarted)["questions"] if q["kind"] == "text" and q["ask"])
    done = quickstarted.run("ask", question["question"], "--as", "alice", "--corpus", "demo", "--json")
    assert done.code == 0 and outcome_is_right(question, done.value)
    citation = done.value["claims"][0]["citations"][0]
    assert citation["version"] == 1 and citation["quote"] and all(len(box) == 4 for box in citation["boxes"])
    assert all(0 <= side <= 1 for box in citation["boxes"] for side in box)
    trail = quickstarted.run("trail", done.value["run"], "--json").value
    first = trail["rounds"][0]["record"]["candidates"][0]
    assert {"similarity", "draw", "score"} <= set(first)


def test_the_employee_without_access_finds_no_documents(quickstarted: Installation) -> None:
    texts = [question["question"] for question in _sample(quickstarted)["questions"]]
    absent = _as_bob(quickstarted, texts[0], "no-such-corpus")
    assert absent["verdict"] == "no_readable_documents" and absent["rounds"] == 0
    assert [_as_bob(quickstarted, text, "demo") for text in texts] == [absent] * len(texts)


def _as_bob(installation: Installation, question: str, corpus: str) -> dict:
    done = installation.run("ask", question, "--as", "bob", "--corpus", corpus, "--json")
    assert done.code == 0, done.errors
    return {key: value for key, value in done.value.items() if key != "run"}


def test_the_audit_chain_is_whole(quickstarted: Installation) -> None:
    done = quickstarted.run("audit", "verify", "--json")
    assert done.code == 0 and done.value["whole"] and done.value["entries"] > 10


def test_a_file_that_is_no_pdf_fails_with_its_reason_and_holds_nobody_up(quickstarted: Installation, tmp_path: Path) -> None:
    (tmp_path / "page.pdf").write_text("<html>not a pdf</html>")
    (tmp_path / "notes.txt").write_text("left out")
    good = next((quickstarted.home / "sample" / "1").glob("*.pdf"))
    shutil.copy(good, tmp_path / "good.pdf")
    done = quickstarted.run("ingest", str(tmp_path), "--corpus", "mixed", "--allow", "staff", "--json")
    assert done.code == 1
    states = {Path(d["path"]).name: (d["state"], d["reason"].split(":")[0]) for d in done.value["documents"]}
    assert states == {"page.pdf": ("failed", "not_a_pdf"), "good.pdf": ("published", "")}
    assert "notes.txt" in done.errors


def test_a_deleted_document_is_gone_at_once_and_forgotten(quickstarted: Installation, tmp_path: Path) -> None:
    good = next((quickstarted.home / "sample" / "1").glob("travel*.pdf"))
    shutil.copy(good, tmp_path / "travel.pdf")
    assert quickstarted.run("ingest", str(tmp_path), "--corpus", "short-lived", "--allow", "staff").code == 0
    [row] = quickstarted.run("documents", "--corpus", "short-lived", "--json").value["documents"]
    question = next(q for q in _sample(quickstarted)["questions"] if q["id"] == "hotel")["question"]
    ask = ("ask", question, "--as", "alice", "--corpus", "short-lived", "--json")
    assert quickstarted.run(*ask).value["verdict"] == "answered"
    assert quickstarted.run("delete", "travel.pdf", "--corpus", "short-lived").code == 0
    assert quickstarted.run(*ask).value["verdict"] == "no_readable_documents"
    for _ in range(60):
        purges = quickstarted.run("purges", "--document", row["document"], "--verify", "--json")
        if purges.code == 0 and purges.value["purges"][0]["state"] != "waiting":
            break
        time.sleep(1)
    assert purges.code == 0 and purges.value["purges"][0]["remains"] == {} and purges.value["purges"][0]["removed"].get("blob", 0) == 0
    assert quickstarted.run("audit", "verify").code == 0
    assert quickstarted.run("delete", "travel.pdf", "--corpus", "short-lived").code == 2


def test_dead_letters_are_listed_and_a_mistake_in_redriving_is_told(quickstarted: Installation) -> None:
    assert quickstarted.run("dead_letters", "--json").value == {"dead_letters": []}
    assert quickstarted.run("dead_letters", "redrive").code == 2
    assert quickstarted.run("dead_letters", "redrive", "nonsense").code == 2


@pytest.mark.parametrize("arguments", [("ask",), ("ingest", "/no/such/path", "--corpus", "x"), ("trail", "nonsense")])
def test_a_mistake_is_told_and_ends_with_a_code(quickstarted: Installation, arguments: tuple[str, ...]) -> None:
    done = quickstarted.run(*arguments)
    assert done.code != 0 and done.errors and "Traceback" not in done.errors


def test_killed_in_the_middle_of_an_ingest_it_goes_on_and_finishes(quickstarted: Installation, tmp_path: Path) -> None:
    for number, source in enumerate(sorted((quickstarted.home / "sample" / "1").glob("*.pdf"))):
        shutil.copy(source, tmp_path / f"{number}.pdf")
    under_way = quickstarted.start("ingest", str(tmp_path), "--corpus", "killed", "--allow", "staff", "--json")
    while under_way.stderr.readline().find("running") < 0:  # until a worker is busy
        assert under_way.poll() is None
    time.sleep(1.5)
    victims = process.marked(Home(quickstarted.home))
    assert len(victims) > 5
    for victim in victims:
        os.kill(victim.pid, signal.SIGKILL)
    under_way.kill()
    under_way.communicate()
    done = quickstarted.run("ingest", str(tmp_path), "--corpus", "killed", "--allow", "staff", "--json")
    assert done.code == 0, done.output + done.errors[-2000:]
    documents = quickstarted.run("documents", "--corpus", "killed", "--json").value["documents"]
    assert [d["version"] for d in documents] == [1] * len(list(tmp_path.iterdir()))
    pages = {d["external_id"]: d["pages"] for d in documents}
    original = {f"{n}.pdf": p for n, p in enumerate(_page_counts(quickstarted))}
    assert pages == original


def _page_counts(installation: Installation) -> list[int]:
    listed = installation.run("documents", "--corpus", "demo", "--json").value["documents"]
    return [d["pages"] for d in sorted(listed, key=lambda d: d["external_id"])]
