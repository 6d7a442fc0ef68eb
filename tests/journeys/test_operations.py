"""Keys, passwords, retention and migrations by their commands, on an installation that is at work; it goes on answering."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from docmemo_site.management.commands.quickstart import outcome_is_right
from tests.journeys.installation import Installation


@pytest.fixture(scope="module")
def question(quickstarted: Installation) -> dict:
    sample = json.loads((quickstarted.home / "sample" / "1" / "questions.json").read_text(encoding="utf-8"))
    return next(q for q in sample["questions"] if q["kind"] == "text" and q["ask"])


def _answers(installation: Installation, question: dict) -> bool:
    done = installation.run("ask", question["question"], "--as", "alice", "--corpus", "demo", "--json")
    return done.code == 0 and outcome_is_right(question, done.value)


def test_new_database_passwords_reach_what_runs(quickstarted: Installation, question: dict, tmp_path: Path) -> None:
    before = json.loads((quickstarted.home / "run" / "services.json").read_text())
    done = quickstarted.run("rotate_database_passwords", "--end-sessions", "--json")
    assert done.code == 0 and len(done.value["roles"]) == 3 and done.value["sessions_ended"] > 0
    after = json.loads((quickstarted.home / "run" / "services.json").read_text())
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {f"{role.removeprefix('docmemo_')}_password" for role in done.value["roles"]}
    assert _answers(quickstarted, question)
    # and workers, which had sessions, take in a document
    good = next((quickstarted.home / "sample" / "1").glob("travel*.pdf"))
    shutil.copy(good, tmp_path / "after-rotation.pdf")
    assert quickstarted.run("ingest", str(tmp_path), "--corpus", "rotated", "--allow", "staff").code == 0


def test_a_new_secret_key_signs_and_the_former_verifies_until_it_is_dropped(quickstarted: Installation, question: dict) -> None:
    assert quickstarted.run("rotate_secret_key", "--json").value == {"former_keys": 1}
    assert quickstarted.run("rotate_secret_key", "--json").value == {"former_keys": 2}
    assert quickstarted.run("rotate_secret_key", "--drop-former", "--json").value == {"former_keys": 0}
    assert _answers(quickstarted, question)


def test_retention_takes_nothing_of_what_is_new_and_says_what_it_looked_at(quickstarted: Installation, question: dict) -> None:
    days = {f"DOCMEMO_KEEP_{what}_DAYS": "30" for what in ("SUPERSEDED_BUILDS", "STAGE_RUNS", "EVENTS", "QUESTIONS")}
    dry = quickstarted.run("retention", "--dry-run", "--json", **days)
    real = quickstarted.run("retention", "--json", **days)
    assert dry.code == real.code == 0 and dry.value["dry_run"] and not real.value["dry_run"]
    gone = {kind["kind"]: kind["gone"] for kind in real.value["kinds"]}
    kept = ("questions", "superseded_builds", "stage_runs", "inbox", "outbox")
    assert {kind: gone.get(kind) for kind in kept} == dict.fromkeys(kept, 0)
    assert _answers(quickstarted, question) and quickstarted.run("audit", "verify").code == 0


def test_a_migration_under_workers_is_refused_or_stops_and_starts_them(quickstarted: Installation, question: dict) -> None:
    assert quickstarted.run("migrate", "ingestion", "0052").code != 0  # would change tables while the workers run
    done = quickstarted.run("migrate", "--restart-workers")
    assert done.code == 0, done.errors[-2000:]
    workers = quickstarted.run("doctor", "--json")
    assert workers.code == 0, workers.output[-2000:]
    assert _answers(quickstarted, question)
