"""The drill: back up while work goes on, restore into an empty installation, and everything is there and goes on."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from docmemo_site.backup.contents import BackupError, backup_verify, manifest_read
from docmemo_site.embedded.control import remove
from docmemo_site.embedded.home import Home
from docmemo_site.embedded.process import wait_until
from docmemo_site.embedded.state import load
from tests.journeys.installation import ROOT, Installation

SMALL = ("travel-policy.pdf", "incident-report.pdf")
LARGE = "operating-manual.pdf"
QUESTION = "Up to how many euro does the company pay for a night in a hotel?"
# Opens every citation of a run as its asker, in the browser's way: the page with the quote, and the picture of the page.
OPEN_CITATIONS = """
from django.test import Client
from ingestion.models import User
from qa.models import Citation
client = Client(HTTP_HOST="127.0.0.1")
client.force_login(User.objects.get(username="alice"))
found = list(Citation.objects.filter(claim__answer__run="{run}"))
codes = []
for one in found:
    picture = client.get(f"/pages/{{one.page_id}}/image")
    size = len(b"".join(picture.streaming_content) if picture.streaming else picture.content)
    codes.append([client.get(f"/runs/{run}/citations/{{one.id}}/").status_code, picture.status_code, size > 1000])
import json
print(json.dumps(codes))
"""


@dataclass(frozen=True)
class Drill:
    folder: Path
    digest: str
    answer: dict[str, Any]
    trail: dict[str, Any]
    documents: list[dict[str, Any]]
    restored: Installation


@pytest.fixture(scope="module")
def homes() -> Iterator[Callable[[], Installation]]:
    made: list[Path] = []

    def make() -> Installation:
        made.append(Path(tempfile.mkdtemp(prefix="docmemo-drill-")))
        return Installation(made[-1])

    yield make
    for home in made:
        remove(Home(home))


@pytest.fixture(scope="module")
def drill(homes: Callable[[], Installation], tmp_path_factory: pytest.TempPathFactory) -> Drill:
    """An installation with documents and an answer, backed up while another document is on its way."""
    first, second = homes(), homes()
    sample, backup = tmp_path_factory.mktemp("sample"), tmp_path_factory.mktemp("kept") / "backup"
    subprocess.run([sys.executable, str(ROOT / "ops" / "sample" / "generate.py"), "--seed", "1", "--output", str(sample)], check=True)
    library = tmp_path_factory.mktemp("from") / "library"
    library.mkdir()
    for name in SMALL:
        shutil.copy(sample / name, library)
    assert_done(first.run("quickstart", str(library), "--no-serve"))
    answer = assert_done(first.run("ask", QUESTION, "--as", "alice", "--corpus", "library", "--seed", "7", "--json")).value
    under_way = first.start("ingest", str(sample / LARGE), "--corpus", "library", "--json")
    while under_way.stderr.readline().find("running") < 0:  # until a worker is busy with it
        assert under_way.poll() is None
    told = assert_done(first.run("backup", str(backup), "--json")).value
    assert_done_process(under_way)
    documents = first.run("documents", "--json").value["documents"]
    trail = first.run("trail", answer["run"], "--json").value
    first.run("down")
    assert_done(second.run("restore", str(backup), "--digest", told["manifest_sha256"], "--json"))
    return Drill(backup, told["manifest_sha256"], answer, trail, documents, second)


def assert_done(done):
    assert done.code == 0, done.output[-2000:] + done.errors[-3000:]
    return done


def assert_done_process(process: subprocess.Popen[str]) -> None:
    output, errors = process.communicate(timeout=900)
    assert process.returncode == 0, output + errors[-2000:]


def rows(installation: Installation, sql: str) -> list[tuple]:
    known = load(Home(installation.home))
    assert known is not None
    with psycopg.connect(known.database_url("reader")) as connection:
        return connection.execute(sql).fetchall()


def test_open_work_goes_on_and_ends_as_it_did_in_the_first_installation(drill: Drill) -> None:
    # The restore starts no worker, so the job is as it was at the moment of the backup.
    assert rows(drill.restored, "SELECT state FROM ingestion_job WHERE state IN ('queued', 'running')") != []
    assert_done(drill.restored.run("up"))
    open_jobs = "SELECT id FROM ingestion_job WHERE state IN ('queued', 'running')"
    assert wait_until(lambda: rows(drill.restored, open_jobs) == [], seconds=600, pause=1.0)
    documents = drill.restored.run("documents", "--json").value["documents"]
    assert documents == drill.documents
    assert {d["external_id"] for d in documents} == {*SMALL, LARGE}


def test_the_answer_and_its_trail_are_the_same_and_its_citations_open(drill: Drill) -> None:
    assert drill.answer["verdict"] == "answered"
    trail = assert_done(drill.restored.run("trail", drill.answer["run"], "--json")).value
    assert trail == drill.trail
    again = assert_done(drill.restored.run("ask", QUESTION, "--as", "alice", "--corpus", "library", "--json")).value
    assert again["verdict"] == "answered" and again["answer"] == drill.answer["answer"]
    for run in (drill.answer["run"], again["run"]):
        opened = json.loads(assert_done(drill.restored.run("shell", "-v", "0", "-c", OPEN_CITATIONS.format(run=run))).output)
        assert opened and all(one == [200, 200, True] for one in opened)


def test_the_audit_chain_is_whole_and_goes_on(drill: Drill) -> None:
    verified = assert_done(drill.restored.run("audit", "verify", "--json")).value
    assert verified["whole"] is True
    kept = manifest_read(drill.folder).heads[0].position
    assert verified["entries"] > kept
    assert rows(drill.restored, f"SELECT act FROM ingestion_auditentry WHERE position = {kept + 1}") == [("backup.restored",)]


def test_the_guards_of_the_database_came_back_too(drill: Drill) -> None:
    known = load(Home(drill.restored.home))
    assert known is not None
    for statement in ("UPDATE ingestion_auditentry SET actor = 'x'", "DELETE FROM ingestion_auditentry", "CREATE TABLE mine (id int)"):
        with psycopg.connect(known.database_url("writer")) as writer, pytest.raises(psycopg.errors.InsufficientPrivilege):
            writer.execute(statement)


def test_an_installation_that_holds_something_is_refused_and_named(drill: Drill) -> None:
    drill.restored.run("down")
    done = drill.restored.run("restore", str(drill.folder))
    assert done.code == 1 and "empty installation only" in done.errors and "ingestion_document" in done.errors


def test_no_secret_of_the_installation_is_in_the_backup(drill: Drill) -> None:
    known = load(Home(drill.restored.home))
    assert known is not None
    assert {p.name for p in drill.folder.iterdir()} == {"manifest.json", "database.dump", "blobs.jsonl", "blobs", "heads"}
    assert not [p for p in drill.folder.rglob("*") if "secret" in p.name or "services" in p.name]


def test_a_second_backup_into_the_same_folder_is_refused(drill: Drill) -> None:
    done = drill.restored.run("backup", str(drill.folder))
    assert done.code == 1 and "is not empty" in done.errors


def _one_byte(folder: Path) -> None:
    path = folder / "database.dump"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _blob(folder: Path) -> Path:
    return next(p for p in sorted((folder / "blobs").rglob("*")) if p.is_file())


def _head(folder: Path) -> Path:
    return next((folder / "heads").iterdir())


def _cut_head(folder: Path) -> None:
    lines = _head(folder).read_text().splitlines(keepends=True)
    _head(folder).write_text("".join(lines[:-1]))


def _cut_head_and_mend_the_manifest(folder: Path) -> None:
    _cut_head(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    from docmemo_site.backup.contents import kept_file

    name = f"heads/{_head(folder).name}"
    manifest["files"] = [vars(kept_file(folder, name)) if f["path"] == name else f for f in manifest["files"]]
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        (_one_byte, "database.dump was changed"),
        (lambda folder: _blob(folder).unlink(), "is missing from the backup"),
        (lambda folder: _blob(folder).write_bytes(b"other"), "bytes, and"),
        (_cut_head, "heads/.* bytes, and"),
        (_cut_head_and_mend_the_manifest, "do not end with entry"),
        (lambda folder: (folder / "manifest.json").unlink(), "holds no manifest"),
        (lambda folder: (folder / "blobs.jsonl").write_text(""), "blobs.jsonl has 0 bytes"),
    ],
)
def test_a_tampered_backup_is_refused_with_the_reason(drill: Drill, tmp_path: Path, tamper: Callable[[Path], None], reason: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(drill.folder, copy)
    assert backup_verify(copy, drill.digest).blobs > 0
    tamper(copy)
    with pytest.raises(BackupError, match=reason):
        backup_verify(copy)


def test_a_tampered_backup_is_not_restored(drill: Drill, homes: Callable[[], Installation], tmp_path: Path) -> None:
    copy, empty = tmp_path / "copy", homes()
    shutil.copytree(drill.folder, copy)
    _one_byte(copy)
    done = empty.run("restore", str(copy))
    assert done.code == 1 and "database.dump was changed" in done.errors and "Traceback" not in done.errors
    assert not (empty.home / "blobs").exists() or not any((empty.home / "blobs").rglob("*.jpg"))
    mended = copy / "manifest.json"
    mended.write_text(mended.read_text().replace('"docmemo"', '"docmemo" '))
    assert "SHA-256 was noted" in empty.run("restore", str(copy), "--digest", drill.digest).errors
