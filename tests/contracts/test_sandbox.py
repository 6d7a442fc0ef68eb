"""The parsing process: what it may use, and that its death is told for what it was."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from ingestion.domain.errors import IngestionError, NeedsHuman, Transient, failure
from ingestion.seams.renderer import Limits
from ingestion.seams.sandbox import run_bounded

HERE = "tests.contracts.test_sandbox"
LIMITS = Limits(memory_bytes=512 * 1024**2, seconds=20, max_pages=1)


def echo(**values: object) -> dict:
    return {**values, "environment": sorted(os.environ), "descriptors": sorted(os.listdir("/proc/self/fd"))}


def eat_memory() -> int:
    return len(bytearray(4 * 1024**3))


def hang() -> None:
    while True:
        pass


def die() -> None:
    os.kill(os.getpid(), 9)


def refuse() -> None:
    raise failure("encrypted")


def write_much() -> None:
    Path("big").write_bytes(b"x" * 10**8)


def leave_a_child() -> int:
    return os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "300")


def test_values_go_in_and_out() -> None:
    found = run_bounded(f"{HERE}:echo", {"a": 1, "b": ["ü"]}, LIMITS)
    assert (found["a"], found["b"]) == (1, ["ü"])
    assert not {name for name in found["environment"] if name.startswith(("DATABASE", "SECRET", "DOCMEMO", "CELERY", "DJANGO"))}


@pytest.mark.parametrize(
    ("function", "code", "kind"),
    [
        ("eat_memory", "parser_memory", IngestionError),
        ("hang", "parser_timeout", IngestionError),
        ("die", "parser_died", Transient),
        ("refuse", "encrypted", NeedsHuman),
        ("write_much", "parser_died", Transient),
        ("no_such_function", "parser_died", Transient),
    ],
)
def test_each_end_is_told_for_what_it_was(function: str, code: str, kind: type[IngestionError]) -> None:
    limits = Limits(512 * 1024**2, 2.0 if function == "hang" else 20.0, 1, output_bytes=10**6)
    with pytest.raises(kind) as raised:
        run_bounded(f"{HERE}:{function}", {}, limits)
    assert raised.value.code == code


def test_nothing_is_left_behind() -> None:
    before = set(os.listdir(tempfile.gettempdir()))
    child = run_bounded(f"{HERE}:leave_a_child", {}, LIMITS)
    with pytest.raises(IngestionError):
        run_bounded(f"{HERE}:die", {}, LIMITS)
    with pytest.raises(ProcessLookupError):
        for _ in range(200):
            os.kill(child, 0)
            os.sched_yield()
            if "Z" in Path(f"/proc/{child}/stat").read_text().split(")")[1][:3]:
                raise ProcessLookupError
    assert not [name for name in set(os.listdir(tempfile.gettempdir())) - before if name.startswith("docmemo-sandbox-")]
