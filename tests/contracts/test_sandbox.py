"""The bounded process: what comes back, and what becomes of children that misbehave."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from ingestion.domain.errors import NeedsHuman
from ingestion.seams import sandbox
from ingestion.seams.sandbox import Bounds

HERE = "tests.ingestion.pdf.children"
ROOT = Path(__file__).resolve().parents[2]
BOUNDS = Bounds(memory_bytes=512 * 1024**2, seconds=60, output_bytes=1024**2)


def test_values_come_back() -> None:
    assert sandbox.run_whole(f"{HERE}:count", {"to": 3}, BOUNDS) == [0, 1, 2]


def test_the_child_has_nothing_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMEMO_DATABASE_URL", "postgres://secret")
    with tempfile.TemporaryFile() as held:
        os.set_inheritable(held.fileno(), True)
        [found] = sandbox.run_whole(f"{HERE}:surroundings", {}, BOUNDS)
    assert "DOCMEMO_DATABASE_URL" not in found["environment"]
    assert found["group"] and found["modules"] == []
    assert found["descriptors"] is None or found["descriptors"] <= 5  # in, out, err, the values, the listing itself
    assert not Path(found["folder"]).exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the filter of calls")
def test_the_child_and_what_it_starts_reach_no_network_and_no_other_process() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert sandbox.run_whole(f"{HERE}:reaches", {"port": server.getsockname()[1]}, BOUNDS) == ["PermissionError"] * 2
    assert sandbox.run_whole(f"{HERE}:looks_into", {"pid": os.getpid()}, BOUNDS) == ["EPERM"]
    assert sandbox.network_refused()


def test_a_typed_failure_keeps_its_type_and_the_values_before_it() -> None:
    values, ended = sandbox.run(f"{HERE}:raises", {"code": "encrypted"}, BOUNDS)
    assert values == [1] and not ended.died
    assert isinstance(ended.failure, NeedsHuman) and ended.failure.code == "encrypted" and "a fact" in ended.failure.message
    with pytest.raises(NeedsHuman):
        sandbox.run_whole(f"{HERE}:raises", {"code": "encrypted"}, BOUNDS)


@pytest.mark.parametrize(
    ("function", "argument", "bounds", "code"),
    [
        ("breaks", {}, BOUNDS, "parser_died"),
        ("dies", {"signum": int(signal.SIGSEGV)}, BOUNDS, "parser_died"),
        ("dies", {"signum": int(signal.SIGKILL)}, BOUNDS, "parser_died"),
        ("dies", {"signum": int(signal.SIGXCPU)}, BOUNDS, "parser_timeout"),
        ("sleeps", {"after": 1}, Bounds(512 * 1024**2, seconds=8), "parser_timeout"),
        ("sleeps", {"after": 1}, Bounds(512 * 1024**2, seconds=600, item_seconds=8), "parser_timeout"),
        ("writes", {"size": 2 * 1024**2}, BOUNDS, "parser_output"),
    ],
)
def test_a_death_is_told_apart_and_loses_no_finished_value(function: str, argument: dict[str, int], bounds: Bounds, code: str) -> None:
    values, ended = sandbox.run(f"{HERE}:{function}", argument, bounds)
    assert ended.died and ended.failure is not None and ended.failure.code == code
    assert values in ([0], [1])


def test_the_memory_of_whoever_starts_the_child_is_not_taken_for_the_childs() -> None:
    held = bytearray(600 * 1024**2)  # more than the child may use
    held[::4096] = b"x" * len(held[::4096])
    _, ended = sandbox.run(f"{HERE}:breaks", {}, BOUNDS)
    assert ended.failure is not None and ended.failure.code == "parser_died" and held


@pytest.mark.skipif(sys.platform != "linux", reason="address space is bounded on Linux only")
def test_memory_is_bounded() -> None:
    values, ended = sandbox.run(f"{HERE}:greedy", {}, BOUNDS)
    assert values == [1] and ended.died and ended.failure is not None and ended.failure.code == "parser_memory"


def test_what_the_child_started_ends_with_it(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    _, ended = sandbox.run(f"{HERE}:grandchild", {"pid_file": str(pid_file)}, Bounds(512 * 1024**2, seconds=60, item_seconds=8))
    assert ended.died
    assert _gone(int(pid_file.read_text()))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_the_child_dies_with_its_parent(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = (
        "from ingestion.seams.sandbox import Bounds, run\n"
        f"run('{HERE}:tell_and_sleep', {{'pid_file': {str(pid_file)!r}}}, Bounds(512 * 1024**2, seconds=600))"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    try:
        for _ in range(600):
            if pid_file.exists() and pid_file.read_text():
                break
            time.sleep(0.05)
        child = int(pid_file.read_text())
    finally:
        parent.kill()
        parent.wait()
    assert _gone(child)


def _gone(pid: int) -> bool:
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return True  # dead; whoever inherited it has not buried it yet
        time.sleep(0.05)
    return False
