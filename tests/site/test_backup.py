"""Making a backup: what is damaged or gone stops it by name, a run that was cut off is gone on with, and one moment is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.db import connections, transaction

from docmemo_site.backup.contents import BackupError, backup_verify, blobs_listed, manifest_read
from docmemo_site.backup.restore import backup_restore
from docmemo_site.backup.take import backup_take
from ingestion.models import Organisation
from ingestion.seams import load
from ingestion.services.audit import audit_append
from tests.ingestion.fakes import Workbench, bench

__all__ = ["bench"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "backup"


def stored(settings: LazySettings, key: str) -> Path:
    return Path(settings.SEAMS["blobs"]["OPTIONS"]["root"]) / key


def test_a_backup_is_whole_and_names_every_stored_file(bench: Workbench, folder: Path) -> None:
    bench.publish("one\ftwo")
    manifest, digest = backup_take(folder)
    assert manifest == backup_verify(folder, digest) and manifest.counts["ingestion_document"] == 1
    assert {blob.key for blob in blobs_listed(folder)} == set(load("blobs").keys(""))
    assert not folder.with_name("backup.partial").exists()


def test_a_stored_file_that_is_gone_stops_it_by_name(bench: Workbench, folder: Path, settings: LazySettings) -> None:
    bench.publish("one\ftwo")
    key = next(key for key in load("blobs").keys("") if "/pages/" in key)
    load("blobs").delete(key)
    with pytest.raises(BackupError, match=f"{key} is not there"):
        backup_take(folder)
    assert not folder.exists()


def test_a_stored_file_that_is_damaged_stops_it_by_name(bench: Workbench, folder: Path, settings: LazySettings) -> None:
    bench.publish("one\ftwo")
    key = next(key for key in load("blobs").keys("") if "/content/" in key)
    path = stored(settings, key)
    path.write_bytes(b"X" + path.read_bytes()[1:])
    with pytest.raises(BackupError, match=f"{key} is damaged"):
        backup_take(folder)
    assert not folder.exists()


def test_cut_off_it_goes_on_from_what_is_whole_and_forgets_what_was_deleted(bench: Workbench, folder: Path, settings: LazySettings) -> None:
    bench.publish("one\ftwo")
    lost = next(key for key in load("blobs").keys("") if "/pages/" in key)
    content = stored(settings, lost).read_bytes()
    load("blobs").delete(lost)
    with pytest.raises(BackupError):
        backup_take(folder)
    partial = folder.with_name("backup.partial")
    with pytest.raises(BackupError, match="never finished"):
        backup_verify(partial)
    stranger = partial / "blobs" / "of" / "a" / "deleted" / "document"
    stranger.parent.mkdir(parents=True)
    stranger.write_bytes(b"text")
    load("blobs").put(lost, content)
    manifest, digest = backup_take(folder)
    assert backup_verify(folder, digest) == manifest and not partial.exists()
    assert not (folder / stranger.relative_to(partial)).exists()


def test_what_happens_after_the_snapshot_is_not_of_this_backup(bench: Workbench, folder: Path) -> None:
    bench.publish("one")

    def meanwhile(line: str) -> None:
        if line == "dumping the database":  # the snapshot is taken, the dump is not yet
            bench.publish("another document", "late.pdf")

    manifest, _ = backup_take(folder, meanwhile)
    organisation = bench.cast.organisation
    assert manifest.counts["ingestion_document"] == 1 and manifest.blobs == 2
    head = next(one for one in manifest.heads if one.organisation == str(organisation.id))
    positions = [json.loads(line)["position"] for line in (folder / "heads" / f"{organisation.id}.jsonl").read_text().splitlines()]
    assert max(positions) == head.position < organisation.audit_entries.count()
    assert backup_verify(folder) == manifest


def test_an_entry_whose_head_is_not_yet_in_the_file_is_kept_with_its_head(bench: Workbench, folder: Path, settings: LazySettings) -> None:
    with transaction.atomic():
        audit_append(organisation=bench.cast.organisation, act="test", subject="s", actor="t")
    file = Path(settings.PIPELINE["AUDIT_HEADS_DIR"]) / f"{bench.cast.organisation.id}.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))
    backup_take(folder)
    assert backup_verify(folder).heads[0].hash in (folder / "heads" / file.name).read_text()


def test_a_backup_of_newer_code_is_refused_before_anything_is_touched(bench: Workbench, folder: Path) -> None:
    backup_take(folder)
    text = (folder / "manifest.json").read_text()
    manifest = json.loads(text)
    manifest["migrations"].append(["ingestion", "9999_from_the_future"])
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(BackupError, match=r"newer DocMemo .*9999_from_the_future"):
        backup_restore(folder)
    assert Organisation.objects.count() == 2


def test_a_restore_over_something_names_it(bench: Workbench, folder: Path) -> None:
    bench.publish("one")
    backup_take(folder)
    bench.publish("later", "later.pdf")
    connections.close_all()
    with pytest.raises(BackupError, match=r"rows in .*ingestion_auditentry .*stored files"):
        backup_restore(folder)
    assert manifest_read(folder).counts["ingestion_document"] == 1 and len(set(load("blobs").keys(""))) == 4
