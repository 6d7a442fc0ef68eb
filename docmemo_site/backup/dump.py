"""pg_dump and pg_restore, as the role that owns the tables."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from django.conf import settings
from django.db import connections

from docmemo_site.backup.contents import LEFT_OUT, BackupError
from docmemo_site.embedded import postgres
from docmemo_site.embedded.errors import UnsupportedPlatform
from docmemo_site.settings import env

OWNER = "migrator"


def program(name: str) -> Path:
    """A program of PostgreSQL's: the embedded one for the embedded server, else the one on PATH, which should be the server's own."""
    own = None if "postgres" in settings.EMBEDDED_SERVICES else shutil.which(name)
    try:
        return Path(own) if own else postgres.shipped_program(name)
    except UnsupportedPlatform as error:
        raise BackupError(f"There is no {name}: install PostgreSQL's client programs of the server's version.") from error


def owner_configured() -> None:
    """Raises `BackupError` where this installation does not know the owner of the tables."""
    if settings.DATABASES[OWNER]["ENGINE"].endswith(".dummy"):
        raise BackupError("Set DATABASE_MIGRATOR_URL: a backup and a restore are made as the role that owns the tables.")


def _run(argv: list[str], failed: str) -> None:
    known = connections[OWNER].get_connection_params()
    address = {"PGHOST": "host", "PGPORT": "port", "PGUSER": "user", "PGPASSWORD": "password", "PGDATABASE": "dbname"}
    where = {name: str(known[key]) for name, key in address.items() if known.get(key)}
    for name, key in (("PGSSLMODE", "sslmode"), ("PGSSLROOTCERT", "sslrootcert")):
        if known.get(key):
            where[name] = str(known[key])
    done = subprocess.run(
        argv, env=env.child_environment(**where), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise BackupError(f"{failed}:\n{done.stderr[-2000:]}")


def database_dump(target: Path, snapshot: str) -> None:
    """Write the database as it is in the exported snapshot. Raises `BackupError`."""
    left_out = [f"--exclude-table-data=public.{table}" for table in LEFT_OUT]
    _run(
        [str(program("pg_dump")), "--format=custom", "--no-owner", "--no-comments", "--schema=public", *left_out]
        + [f"--snapshot={snapshot}", f"--file={target}"],
        "pg_dump failed",
    )


def database_load(source: Path) -> None:
    """Fill an empty database from a dump, wholly or not at all. Raises `BackupError`."""
    contents = source.with_name(f".{source.name}.contents")
    listed = subprocess.run(
        [str(program("pg_restore")), "--list", str(source)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        raise BackupError(f"pg_restore cannot read the dump:\n{listed.stderr[-2000:]}")
    # The schema, its rights and the extension were made by ops/roles.sql and belong to whoever ran it.
    kept = [line for line in listed.stdout.splitlines() if not any(f" {kind} " in line for kind in FOREIGN)]
    try:
        contents.write_text("\n".join(kept) + "\n")
        name = str(settings.DATABASES[OWNER]["NAME"])
        _run(
            [str(program("pg_restore")), "--single-transaction", "--exit-on-error", "--no-owner", f"--use-list={contents}"]
            + [f"--dbname={name}", str(source)],
            "pg_restore failed; the database is as it was before",
        )
    finally:
        contents.unlink(missing_ok=True)


FOREIGN = ("SCHEMA", "EXTENSION", "DEFAULT ACL", "ACL - SCHEMA")
