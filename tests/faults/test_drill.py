"""A small drill with real processes: nothing is lost, doubled, stuck or orphaned, and each kind of fault struck."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docmemo_site.drill.brokers import why_not
from docmemo_site.embedded.control import remove
from docmemo_site.embedded.home import Home
from docmemo_site.settings.env import REPOSITORY

KINDS = {
    "worker_child", "worker_frozen", "worker_main", "consumer", "relay", "sweeper", "broker", "valkey", "valkey_emptied", "postgres",
    "embedder_fails", "embedder_hangs",
}  # fmt: skip


@pytest.fixture
def folder() -> Iterator[Path]:
    """A place that PostgreSQL's own user can enter; whatever a drill left running there is ended."""
    found = Path(tempfile.mkdtemp(prefix="docmemo-drill-test-"))
    found.chmod(0o711)
    yield found
    for home in (found / "home" / "brokers", found / "home"):
        remove(Home(home))
    shutil.rmtree(found, ignore_errors=True)


def drill(folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """A drill as a person starts it, in an environment without the tests' own settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DOCMEMO_", "DJANGO_", "DATABASE_", "CELERY_")) and k != "SECRET_KEY"}
    done = subprocess.run(
        [sys.executable, "manage.py", "fault_drill", "--json", "--home", str(folder / "home"), *arguments],
        cwd=REPOSITORY, env={**kept, "DOCMEMO_HOME": str(folder / "outer")}, capture_output=True, text=True, check=False, timeout=1800,
    )  # fmt: skip
    assert done.stdout, done.stderr[-4000:]
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("bus", ["embedded", "kafka"])
def test_nothing_is_lost_doubled_or_stuck_whatever_dies(folder: Path, bus: str) -> None:
    if bus == "kafka" and why_not():
        pytest.skip(why_not())
    code, report = drill(folder, "--documents=40", "--faults=1", "--bus", bus)
    figures = {name: report[name] for name in ("lost", "doubled", "stuck", "orphans")}
    assert figures == {"lost": 0, "doubled": 0, "stuck": 0, "orphans": 0}, report["details"]
    assert report["poison"] == report["dead_letters"] > 0, report["details"]
    assert report["events"] == report["effects"] > 100
    assert {fault["kind"] for fault in report["faults"]} == KINDS
    assert all(fault["back"] for fault in report["faults"])
    assert code == 0 and report["good"]

