"""Making a backup: one snapshot of the database, then the files that it names."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings
from django.db import connections, transaction
from django.db.backends.utils import CursorWrapper
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from docmemo_site.backup import dump
from docmemo_site.backup.contents import (
    BLOB_LIST,
    DATABASE,
    HEADS,
    LEFT_OUT,
    MANIFEST,
    BackupError,
    Head,
    KeptBlob,
    Manifest,
    Say,
    blob_path,
    blobs_listed,
    kept_file,
    sha256_of,
)
from docmemo_site.settings.env import REPOSITORY
from ingestion.models import AuditEntry, Blob, Organisation, Page
from ingestion.seams import load
from ingestion.seams.blobs import BlobMissing

CHUNK = 1 << 20


@dataclass(frozen=True)
class Snapshot:
    """What the manifest says of the database."""

    postgresql: str
    migrations: list[list[str]]
    counts: dict[str, int]
    heads: list[Head]


def backup_take(folder: Path, say: Say = lambda _line: None) -> tuple[Manifest, str]:
    """Make a backup in `folder`, which must not be there or be empty; returns its manifest and the SHA-256 of that.

    Work may go on meanwhile. A run that was cut off leaves `FOLDER.partial`; the next one uses the stored files in it that are
    whole. Raises `BackupError`.
    """
    dump.owner_configured()
    folder = folder.absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BackupError(f"{folder} is not empty. Name a folder that is not there yet.")
    partial = folder.with_name(f"{folder.name}.partial")
    partial.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name in (MANIFEST, DATABASE, BLOB_LIST):
        (partial / name).unlink(missing_ok=True)
    shutil.rmtree(partial / HEADS, ignore_errors=True)
    made_at = timezone.now()
    snapshot = _snapshot_keep(partial, say)
    blobs, size = _blobs_copy(partial, say)
    names = [DATABASE, BLOB_LIST, *(f"{HEADS}/{head.organisation}.jsonl" for head in snapshot.heads)]
    manifest = Manifest(
        docmemo=_version(), made_at=made_at.isoformat(), postgresql=snapshot.postgresql, migrations=snapshot.migrations,
        files=[kept_file(partial, name) for name in names], blobs=blobs, blob_bytes=size, heads=snapshot.heads, counts=snapshot.counts,
    )  # fmt: skip
    text = manifest.as_text()
    _write_synced(partial / MANIFEST, text)
    if folder.exists():
        folder.rmdir()
    partial.rename(folder)
    return manifest, hashlib.sha256(text.encode()).hexdigest()


def _version() -> str:
    return str(tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def _write_synced(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


# --- the database --------------------------------------------------------------------------------------


def _snapshot_keep(folder: Path, say: Say) -> Snapshot:
    """Dump the database, list the stored files and keep the audit heads, all of one moment."""
    with transaction.atomic(using=dump.OWNER), connections[dump.OWNER].cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SELECT pg_export_snapshot(), current_setting('server_version')")
        snapshot, version = cursor.fetchone()
        say("dumping the database")
        dump.database_dump(folder / DATABASE, snapshot)
        applied = MigrationRecorder(connections[dump.OWNER]).applied_migrations()
        _blobs_list(folder)
        return Snapshot(version, sorted([app, name] for app, name in applied), table_counts(cursor), _heads_keep(folder))


def table_counts(cursor: CursorWrapper) -> dict[str, int]:
    """Rows of each table of ours."""
    cursor.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1"
    )
    counts = {}
    for (table,) in cursor.fetchall():
        if table not in LEFT_OUT:
            cursor.execute(f"SELECT count(*) FROM {connections[dump.OWNER].ops.quote_name(table)}")
            counts[table] = cursor.fetchone()[0]
    return counts


def _heads_keep(folder: Path) -> list[Head]:
    """Copy the files of published heads; what was published after the snapshot is not of this backup."""
    (folder / HEADS).mkdir()
    heads = []
    for organisation in Organisation.objects.using(dump.OWNER).order_by("slug"):
        entry = AuditEntry.objects.using(dump.OWNER).filter(organisation=organisation).order_by("-position").first()
        if entry is None:
            continue
        published = Path(settings.PIPELINE["AUDIT_HEADS_DIR"]) / f"{organisation.id}.jsonl"
        lines = published.read_text(encoding="utf-8").splitlines() if published.exists() else []
        kept = [line for line in lines if _position(line, organisation.slug) <= entry.position]
        if not any(_position(line, organisation.slug) == entry.position for line in kept):
            # The file is written just after the commit; here the entry was quicker than its line.
            kept.append(json.dumps({"organisation": str(organisation.id), "position": entry.position, "hash": entry.entry_hash}))
        _write_synced(folder / HEADS / f"{organisation.id}.jsonl", "".join(f"{line}\n" for line in kept))
        heads.append(Head(str(organisation.id), organisation.slug, entry.position, entry.entry_hash))
    return heads


def _position(line: str, slug: str) -> int:
    try:
        return int(json.loads(line)["position"])
    except (ValueError, KeyError, TypeError):
        raise BackupError(f"The published audit heads of {slug} have a line that cannot be read: see manage.py audit verify.") from None


# --- stored files --------------------------------------------------------------------------------------


def _blobs_named() -> Iterator[KeptBlob]:
    """Every stored file that the snapshot names; the size of a page's picture is known to the store alone."""
    for blob in Blob.objects.using(dump.OWNER).iterator(chunk_size=2000):
        yield KeptBlob(blob.key, blob.bytes, blob.sha256)
    pictures = Page.objects.using(dump.OWNER).exclude(image_key="").values_list("image_key", "image_sha256")
    for key, sha256 in pictures.iterator(chunk_size=2000):
        yield KeptBlob(key, -1, sha256)


def _blobs_list(folder: Path) -> None:
    with (folder / BLOB_LIST).open("w", encoding="utf-8") as file:
        for blob in _blobs_named():
            file.write(json.dumps(asdict(blob)) + "\n")


def _blobs_copy(folder: Path, say: Say) -> tuple[int, int]:
    """Copy the listed files, checking each against its hash; returns how many and their bytes. The list gets the sizes."""
    store, sizes, total = load("blobs"), folder / f"{BLOB_LIST}.sizes", 0
    named: set[str] = set()
    with sizes.open("w", encoding="utf-8") as file:
        for blob in blobs_listed(folder):
            if blob.key in named:
                continue
            named.add(blob.key)
            path = blob_path(folder, blob.key)
            if not (path.is_file() and sha256_of(path) == blob.sha256):
                _blob_copy(store, blob, path)
            size = path.stat().st_size
            if blob.bytes not in (-1, size):
                raise BackupError(f"The stored file {blob.key} has {size} bytes, and its row says {blob.bytes}.")
            file.write(json.dumps(asdict(KeptBlob(blob.key, size, blob.sha256))) + "\n")
            total += size
            if len(named) % 500 == 0:
                say(f"copied {len(named)} stored files")
        file.flush()
        os.fsync(file.fileno())
    sizes.replace(folder / BLOB_LIST)
    _strangers_remove(folder, named)
    say(f"copied {len(named)} stored files, {total} bytes")
    return len(named), total


def _blob_copy(store: object, blob: KeptBlob, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".new-{path.name}")
    digest = hashlib.sha256()
    try:
        with store.open(blob.key) as source, draft.open("wb") as target:  # type: ignore[attr-defined]
            while chunk := source.read(CHUNK):
                digest.update(chunk)
                target.write(chunk)
            target.flush()
            os.fsync(target.fileno())
    except BlobMissing:
        raise BackupError(
            f"The stored file {blob.key} is not there. If something was deleted while the backup ran, run it again; "
            "if this comes back, the file is lost: take the document in again, or restore an older backup."
        ) from None
    if digest.hexdigest() != blob.sha256:
        draft.unlink()
        raise BackupError(f"The stored file {blob.key} is damaged: its SHA-256 is not the one in the database.")
    draft.replace(path)


def _strangers_remove(folder: Path, named: set[str]) -> None:
    """Files of an earlier run that this snapshot does not name: they were deleted since and must not live on here."""
    root = folder / "blobs"
    for path in root.rglob("*"):
        if path.is_file() and path.relative_to(root).as_posix() not in named:
            path.unlink()
