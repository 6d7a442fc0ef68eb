"""Bringing a backup back, into an installation that holds nothing yet."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connections, transaction
from django.db.backends.utils import CursorWrapper
from django.db.migrations.loader import MigrationLoader

from docmemo_site.backup import dump
from docmemo_site.backup.contents import (
    DATABASE,
    HEADS,
    BackupError,
    Head,
    Manifest,
    Say,
    backup_verify,
    blob_path,
    blobs_listed,
    sha256_of,
)
from docmemo_site.backup.take import table_counts
from docmemo_site.embedded.home import Home, is_held
from ingestion.models import AuditEntry, Organisation
from ingestion.seams import load
from ingestion.services.audit import audit_verify
from ingestion.services.restored import installation_restored
from qa.services.questions import runs_give_back

# Rows that migrations make; they are no content.
MADE_BY_MIGRATIONS = frozenset({"django_migrations", "django_content_type", "auth_permission"})


@dataclass(frozen=True)
class Restored:
    """What came back, and what was behind the code and brought up to date."""

    manifest: Manifest
    rows: int
    entries: int
    migrated: int


def backup_restore(folder: Path, digest: str = "", say: Say = lambda _line: None) -> Restored:
    """Restore the backup of `folder`: verified before, counted and its audit chain verified after. Raises `BackupError`.

    The database comes last and in one transaction: a restore that was cut off may simply be run again.
    """
    dump.owner_configured()
    manifest = backup_verify(folder, digest, say)
    _fits_the_code(manifest)
    _nothing_runs()
    _nothing_is_here(folder)
    _files_put(folder, manifest, say)
    say("loading the database")
    with connections[dump.OWNER].cursor() as cursor:
        _empty_tables_drop(cursor)
    dump.database_load(folder / DATABASE)
    with connections[dump.OWNER].cursor() as cursor:
        counts = table_counts(cursor)
    wrong = {name: (counts.get(name), rows) for name, rows in manifest.counts.items() if counts.get(name) != rows}
    if wrong:
        said = ", ".join(f"{name} has {have} rows instead of {rows}" for name, (have, rows) in sorted(wrong.items()))
        raise BackupError(f"The restored database is not the one of the backup: {said}.")
    migrated = _migrate(say)
    entries = _audit_check(manifest.heads, say)
    installation_restored(made_at=manifest.made_at, actor="restore")
    runs_give_back()
    return Restored(manifest, sum(counts.values()), entries, migrated)


def _fits_the_code(manifest: Manifest) -> None:
    known = set(MigrationLoader(None, ignore_no_migrations=True).disk_migrations)
    strange = [f"{app}.{name}" for app, name in manifest.migrations if (app, name) not in known]
    if strange:
        raise BackupError(f"The backup was made by a newer DocMemo ({manifest.docmemo}): this code lacks {', '.join(strange)}.")


def _nothing_runs() -> None:
    """Workers that write while the database comes back would mix two installations."""
    if settings.EMBEDDED_SERVICES and is_held(Home(settings.DOCMEMO_HOME).supervisor_lock):
        raise BackupError("The workers run. Stop them (manage.py down), then restore; it starts the services that it needs.")
    connections["default"].close()
    connections["evidence"].close()
    with connections[dump.OWNER].cursor() as cursor:
        users = [settings.DATABASES[alias]["USER"] for alias in ("default", "evidence")]
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = ANY(%s)", [users])
        (count,) = cursor.fetchone()
    if count:
        raise BackupError(f"{count} sessions of {' and '.join(users)} are open: stop every worker and web process first.")


def _nothing_is_here(folder: Path) -> None:
    """Refuse where the installation holds anything; the files of this very backup, from a restore that was cut off, do not count."""
    found = []
    with connections[dump.OWNER].cursor() as cursor:
        counts = table_counts(cursor)
    rows = {name: count for name, count in counts.items() if count and name not in MADE_BY_MIGRATIONS}
    if rows:
        found.append("rows in " + ", ".join(f"{name} ({count})" for name, count in sorted(rows.items())[:12]))
    ours = {blob.key for blob in blobs_listed(folder)}
    stored: Iterator[str] = load("blobs").keys("")
    strangers = sum(key not in ours for key in stored)
    if strangers:
        found.append(f"{strangers} stored files")
    for path in sorted(Path(settings.PIPELINE["AUDIT_HEADS_DIR"]).glob("*.jsonl")):
        kept = folder / HEADS / path.name
        if not kept.is_file() or sha256_of(kept) != sha256_of(path):
            found.append(f"audit heads in {path}")
    if found:
        raise BackupError(f"A backup is restored into an empty installation only; here there are {'; '.join(found)}.")


def _files_put(folder: Path, manifest: Manifest, say: Say) -> None:
    store = load("blobs")
    for count, blob in enumerate(blobs_listed(folder), 1):
        store.put(blob.key, blob_path(folder, blob.key))
        if count % 500 == 0:
            say(f"stored {count} of {manifest.blobs} files")
    target = Path(settings.PIPELINE["AUDIT_HEADS_DIR"])
    target.mkdir(parents=True, exist_ok=True)
    for head in manifest.heads:
        shutil.copyfile(folder / HEADS / f"{head.organisation}.jsonl", target / f"{head.organisation}.jsonl")


def _empty_tables_drop(cursor: CursorWrapper) -> None:
    """Tables and functions that migrations have made in an installation that has been up, but was never used."""
    cursor.execute(
        "SELECT 'TABLE', c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND c.relowner = (SELECT oid FROM pg_roles WHERE rolname = current_user) "
        "UNION ALL SELECT 'FUNCTION', p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace "
        "WHERE n.nspname = 'public' AND p.proowner = (SELECT oid FROM pg_roles WHERE rolname = current_user)"
    )
    found = cursor.fetchall()
    with transaction.atomic(using=dump.OWNER):
        for kind, name in found:
            cursor.execute(f"DROP {kind} IF EXISTS {name} CASCADE")


def _migrate(say: Say) -> int:
    """Bring a database of an older DocMemo up to date; returns how many migrations that took."""
    loader = MigrationLoader(connections[dump.OWNER])
    left = [key for key in loader.graph.nodes if key not in loader.applied_migrations]
    if left:
        say(f"bringing the database up to date: {len(left)} migrations")
        call_command("migrate", database=dump.OWNER, verbosity=0, interactive=False)
    return len(left)


def _audit_check(heads: list[Head], say: Say) -> int:
    """Walk every audit chain, against the heads of the backup; returns the number of entries."""
    entries = 0
    for head in heads:
        say(f"verifying the audit chain of {head.slug}")
        organisation = Organisation.objects.get(id=head.organisation)
        findings = audit_verify(organisation, {head.position: head.hash})
        newest = AuditEntry.objects.filter(organisation=organisation).order_by("-position").first()
        if findings or newest is None or asdict(head)["hash"] != newest.entry_hash:
            said = f"entry {findings[0].position}: {findings[0].message}" if findings else f"it does not end with entry {head.position}"
            raise BackupError(f"The audit chain of {head.slug} is not whole in this backup: {said}. Do not use it as it is.")
        entries += newest.position
    return entries
