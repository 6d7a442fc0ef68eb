"""Rights on the command line of an installation of its own: why, what a change would do, back then, who relied on what, a directory."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from tests.journeys.installation import Installation


def _question(installation: Installation) -> str:
    sample = json.loads((installation.home / "sample" / "1" / "questions.json").read_text(encoding="utf-8"))
    return next(q["question"] for q in sample["questions"] if q["kind"] == "text" and q["ask"])


def test_why_before_after_and_back_then(quickstarted: Installation, tmp_path: Path) -> None:
    run = quickstarted.run
    question = _question(quickstarted)
    then = datetime.now(UTC).isoformat()
    answered = run("ask", question, "--as", "alice", "--corpus", "demo", "--json").value
    document = answered["claims"][0]["citations"][0]["document"]
    assert answered["mark"] == "current"

    why = run("access", "explain", "--person", "alice", "--document", document, "--json").value
    assert why["visible"] and why["parts"][0]["ruling"] == "every_list_met"
    assert not run("access", "explain", "--person", "bob", "--document", document, "--json").value["visible"]

    grant = ("access", "grant", "--as", "admin", "--corpus", "demo", "--allow", "user:bob")
    seen = run(*grant, "--dry-run", "--json").value
    assert [person["person"] for person in seen["people"]] == ["bob"]
    assert not run("access", "explain", "--person", "bob", "--document", document, "--json").value["visible"]
    assert run(*grant, "--seen", seen["digest"]).code == 0
    assert run("access", "explain", "--person", "bob", "--document", document, "--json").value["visible"]
    again = run(*grant, "--seen", seen["digest"])
    assert again.code == 3 and "Nothing was changed" in again.errors

    past = run("ask", question, "--as", "bob", "--corpus", "demo", "--as-of", then, "--auditor", "auditor", "--json")
    assert past.code == 0, past.errors
    assert past.value["as_of"]["for"] == "bob" and past.value["verdict"] == "no_readable_documents"
    past = run("ask", question, "--as", "alice", "--corpus", "demo", "--as-of", then, "--auditor", "auditor")
    assert past.code == 0 and past.output.startswith("AS OF ") and "read by the auditor auditor" in past.output
    assert run("ask", question, "--as", "alice", "--corpus", "demo", "--as-of", then, "--auditor", "bob").code == 2

    relied = run("recall", document, "--json").value["runs"]
    assert {one["asker"] for one in relied if one["relied"]} >= {"alice", "auditor"}
    assert question not in run("recall", document).output

    file = tmp_path / "people.json"
    events = [
        {"type": "user.created", "user": "u-bob", "username": "bob", "revision": 1},
        {"type": "group.members", "group": "g", "name": "from-outside", "revision": 1, "members": [{"user": "u-bob"}]},
        {"type": "group.unavailable", "group": "hidden", "status": "403"},
    ]
    content = {"format": "docmemo.directory/1", "source": "test", "read_at": datetime.now(UTC).isoformat(), "events": events}
    file.write_text(json.dumps(content))
    synced = run("directory", "sync", str(file), "--json")
    assert synced.code == 0 and (synced.value["started"], synced.value["unavailable"]) == (1, ["hidden"])
    assert run("audit", "verify").code == 0
    assert run("access", "revoke", "--as", "admin", "--corpus", "demo", "--allow", "user:bob").code == 0
