"""`manage.py access`, `recall` and `directory`: what they print, and that absent and forbidden read the same."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from docmemo_site.management.commands import access, directory, recall
from ingestion.domain.ids import new_id
from ingestion.models import AccessAssignment, Role
from ingestion.services.corpora import corpus_create
from ingestion.services.people import person_create, role_grant
from tests.ingestion.fakes import Workbench, bench
from tests.people import PASSWORD

__all__ = ["bench"]


def _access(*words: str) -> str:
    """The command without the starting of services, which would be workers on the test's database."""
    command = access.Command(stdout=io.StringIO())
    options: dict[str, Any] = vars(command.create_parser("manage.py", "access").parse_args([*words]))
    {"explain": command._explain, "show": command._show}.get(options["action"], command._change)(options)
    return command.stdout.getvalue()


@pytest.fixture
def document(bench: Workbench):
    document = bench.publish("one\ftwo")
    olive = person_create(organisation=bench.cast.organisation, username="olive", password=PASSWORD)
    role_grant(user=olive, role=Role.CORPUS_OWNER, corpus=document.corpus, actor="test")
    return document


def test_explaining(bench: Workbench, document) -> None:
    told = _access("explain", "--person", "alice", "--document", str(document.id), "--organisation", "acme")
    assert told.startswith(f"alice may see the document {document.id}.") and "through user:alice > staff" in told
    told = json.loads(_access("explain", "--person", "bob", "--document", str(document.id), "--page", "2", "--as", "olive", "--json"))
    assert (told["visible"], told["page"], told["parts"][0]["ruling"]) == (False, 2, "list_not_met")


def test_looking_first_and_then_granting(bench: Workbench, document) -> None:
    words = ("grant", "--as", "olive", "--corpus", "library", "--allow", "user:bob")
    seen = json.loads(_access(*words, "--dry-run", "--json"))
    assert [(p["person"], p["pages_gained"]) for p in seen["people"]] == [("bob", 2)] and not bench.sees("bob", document)
    with pytest.raises(CommandError, match="Nothing was changed"):
        _access(*words, "--seen", "0" * 32)
    assert not bench.sees("bob", document)
    assert "rights of 2 pages changed" in _access(*words, "--seen", seen["digest"]) and bench.sees("bob", document)
    assert "may read: staff, user:bob" in _access("show", "--as", "olive", "--corpus", "library")
    _access("revoke", "--as", "olive", "--corpus", "library", "--allow", "user:bob")
    assert not bench.sees("bob", document)
    page = ("--as", "olive", "--document", str(document.id), "--page", "2")
    _access("grant", *page, "--allow", "user:alice", "--narrow")
    assert "page 2: may read: user:alice" in _access("show", "--as", "olive", "--document", str(document.id))
    _access("revoke", *page, "--widen")


def test_absent_and_forbidden_read_the_same(bench: Workbench, document) -> None:
    corpus_create(actor="test", organisation=bench.cast.organisation, slug="other", allow=("staff",))
    foreign = bench.publish("x", external_id="x", corpus=bench.corpus("other"))
    before, said = AccessAssignment.objects.count(), set()
    for who, where in (
        ("olive", ("--corpus", "other")), ("olive", ("--corpus", "absent")), ("alice", ("--corpus", "library")),
        ("mallory", ("--corpus", "library")), ("olive", ("--document", str(foreign.id))), ("olive", ("--document", str(new_id()))),
        ("auditor", ()), ("alice", ("--document", str(document.id))), ("olive", ("--document", "no id")),
    ):  # fmt: skip
        for action in ("grant", "revoke"):
            with pytest.raises(CommandError) as refused:
                _access(action, "--as", {"auditor": "audra"}.get(who, who), *where, "--allow", "staff")
            said.add(str(refused.value))
    assert said == {access.NOTHING_HERE} and AccessAssignment.objects.count() == before


def test_a_directory_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    broken = tmp_path / "people.json"
    broken.write_text('{"format": ')
    for path in (broken, tmp_path / "absent.json"):
        with pytest.raises(CommandError, match="Nothing was changed"):
            directory.content_of(path)
    report = directory.SyncReport(applied=2, started=1, unavailable=["g-3"], faults=[(4, "not_an_event")])
    assert "left to lapse by their age: g-3" in directory.report_text(report) and "Event 4" in directory.report_text(report)


def test_a_recalled_run_in_a_line(bench: Workbench) -> None:
    run, now = new_id(), bench.cast.alice.created_at
    one = recall.Recalled(run, "alice", now, now, "answered", None, None, "no longer held", True)
    assert "citations no longer held; no longer held, answer withdrawn" in recall.recalled_text(one)
