"""The application processes that the supervisor runs beside the services."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass

from docmemo_site.settings.env import REPOSITORY


@dataclass(frozen=True)
class Program:
    """One process to keep alive.

    `grace` is how many seconds it may take to stop by itself; once it has lived for `settles` seconds it
    counts as started.
    """

    name: str
    argv: tuple[str, ...]
    grace: float
    settles: float = 3.0


def _command(name: str) -> tuple[str, ...]:
    return (sys.executable, str(REPOSITORY / "manage.py"), name)


def _worker(name: str, queues: str, processes: int) -> tuple[str, ...]:
    return (
        *(sys.executable, "-m", "celery", "-A", "workers.app", "worker"),
        *("-Q", queues, "-c", str(processes), "-n", f"{name}@%h", "--loglevel", "INFO"),
        *("--without-gossip", "--without-mingle"),
    )


MIGRATE = (*_command("migrate"), "--database", "migrator", "--no-input")

# In this order they stop: first what takes work in, then what does it. What a killed worker held comes
# back through its lease.
PROGRAMS: tuple[Program, ...] = (
    Program("watcher", _command("run_watcher"), 5.0),
    Program("consumer", _command("run_consumer"), 5.0),
    Program("sweeper", _command("run_sweeper"), 5.0),
    Program("work", _worker("work", "cpu,parse,embed,describe", 2), 8.0),
    Program("quick", _worker("quick", "publish,answer", 1), 8.0),
    Program("relay", _command("run_relay"), 5.0),
)


def code_mark() -> str:
    """Changes whenever a file of the program does; tells processes that run old code."""
    digest = hashlib.sha256()
    for top in ("docmemo_site", "ingestion", "qa", "workers"):
        for path in sorted((REPOSITORY / top).rglob("*.py")):
            about = path.stat()
            digest.update(f"{path} {about.st_size} {about.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
