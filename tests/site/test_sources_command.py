"""`manage.py sources`, from adding a folder to its documents being sent: output, exit codes, and what it refuses."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from docmemo_site.management.commands import sources
from ingestion.models import ApiToken, Corpus, OutboxEvent, SourceConfiguration
from tests.people import make_cast


@pytest.fixture
def folder(committed_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_cast()
    monkeypatch.setattr(sources, "services_ready", lambda _say: None)  # the tests' services are up already
    root = tmp_path / "documents"
    root.mkdir()
    (root / "a.pdf").write_bytes(b"%PDF-1.7 not much of one")
    return root


def run(*arguments: str) -> tuple[Any, int]:
    out = io.StringIO()
    try:
        call_command("sources", *arguments, "--organisation", "acme", "--json", stdout=out, stderr=io.StringIO())
    except SystemExit as ended:
        return json.loads(out.getvalue()), int(ended.code or 0)
    return json.loads(out.getvalue()), 0


def add(folder: Path, *more: str) -> tuple[Any, int]:
    given = ("--kind", "folder", "--corpus", "library", "--option", f"root={folder}", "--option", "settle_seconds=0")
    return run("add", "drive", *given, "--allow", "staff", *more)


def test_from_adding_to_removing(folder: Path) -> None:
    added, code = add(folder, "--interval", "5", "--option", "patterns=*.pdf,*.PDF")
    assert (code, added["kind"], added["corpus"], added["interval_seconds"]) == (0, "folder", "library", 5)
    synced, code = run("sync-now", "drive")
    assert (code, synced["sources"]["drive"]["state"], synced["sources"]["drive"]["submitted"]) == (0, "complete", 1)
    assert OutboxEvent.objects.get(topic="docmemo.documents").payload["data"]["external_id"] == "drive/a.pdf"
    assert run("sync-now")[0]["sources"]["drive"]["submitted"] == 0
    listed, code = run("list")
    assert (code, listed["sources"][0]["name"], listed["sources"][0]["documents"]) == (0, "drive", 1)
    assert run("remove", "drive", "--withdraw") == ({"removed": "drive", "withdrawn": 1}, 0)
    assert not SourceConfiguration.objects.exists()


def test_a_sync_that_did_not_see_everything_exits_with_1(folder: Path) -> None:
    add(folder)
    os.rename(folder, folder.with_name("elsewhere"))
    synced, code = run("sync-now")
    assert (code, synced["sources"]["drive"]["state"]) == (1, "source_unreachable")


def test_a_paused_source_is_not_asked(folder: Path) -> None:
    add(folder)
    assert run("pause", "drive") == ({"source": "drive", "paused": True}, 0)
    assert run("sync-now", "drive")[0]["sources"]["drive"]["state"] == "busy" and run("sync-now")[0]["sources"] == {}
    assert run("list")[0]["sources"][0]["paused"]
    run("resume", "drive")
    assert run("sync-now")[0]["sources"]["drive"]["submitted"] == 1


def test_a_token_is_shown_once_and_ends(folder: Path) -> None:
    run("add", "intranet", "--kind", "push", "--corpus", "library")
    made, code = run("token", "intranet", "--label", "ci", "--days", "30")
    assert code == 0 and made["token"].startswith("docmemo_")
    assert made["token"] not in str(list(ApiToken.objects.values()))
    assert run("list")[0]["sources"][0]["tokens"] == ["ci"]
    assert run("revoke", "intranet", "--label", "ci") == ({"revoked": 1}, 0)


@pytest.mark.parametrize(
    "arguments",
    [
        ("sync-now", "nothing"),
        ("remove", "nothing"),
        ("token", "nothing"),
        ("pause", "nothing"),
        ("add", "x", "--kind", "nothing", "--corpus", "library"),
        ("add", "x", "--kind", "folder", "--corpus", "library"),
        ("add", "x", "--kind", "folder", "--corpus", "library", "--option", "root"),
        ("add", "x", "--kind", "push", "--corpus", "library", "--option", "root=/x"),
        ("add", "upload", "--kind", "push", "--corpus", "library"),
        ("add", "no slug", "--kind", "push", "--corpus", "library"),
        ("add", "x", "--kind", "push", "--corpus", "library", "--interval", "0"),
    ],
)
def test_what_cannot_be_done_exits_with_2_and_changes_nothing(folder: Path, arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError) as told:
        run(*arguments)
    assert told.value.returncode == 2 and not SourceConfiguration.objects.exists() and not Corpus.objects.exists()
