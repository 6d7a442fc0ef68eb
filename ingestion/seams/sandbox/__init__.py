"""Running a named function over hostile input in a fresh process that can die alone.

    items, end = run("package.module:function", {...JSON...}, Bounds(...))

The function is a generator of JSON values. Each value is kept as soon as it is yielded, so what was finished before a death
is not lost. The child is a new interpreter, never a fork of the caller: it has its own process group, bounds on memory, CPU
time and file size set by the operating system, no network, no descriptor, no secret of the caller's environment and a working
folder that is removed whatever happens. It dies with its parent (on Linux) and at the deadline (everywhere).
"""

from __future__ import annotations

import json
import logging
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ingestion.domain.errors import DOCUMENT_FAILURES, IngestionError, failure
from ingestion.seams.sandbox.bounds import ITEMS, OUT_OF_MEMORY, REQUEST, STDERR, TOO_MUCH_OUTPUT, Bounds

__all__ = ["Bounds", "Ended", "network_refused", "run", "run_whole"]

logger = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[3]
PREFIX = "docmemo-sandbox-"
STALE_SECONDS = 3600.0
STDERR_KEPT = 4000
# Nothing else of the caller's environment reaches the child: it holds addresses and passwords.
KEPT_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
# What allocators and PDFium write before they abort for want of memory.
MEMORY_WORDS = (b"bad_alloc", b"MemoryError", b"out of memory", b"Out of memory", b"Cannot allocate memory", b"bad allocation")
MEMORY_SHARE = 0.9  # of the bound: a child that died this full died of it


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: `failure` is None when the function returned, else what became of it, typed.

    `died` is True when the process itself went down (memory, time, a crash), False when the function raised.
    """

    failure: IngestionError | None
    died: bool = False


def run(function: str, argument: Mapping[str, Any], bounds: Bounds) -> tuple[list[Any], Ended]:
    """Run `module:function(**argument)`, a generator, in a child; the values it yielded and how it ended.

    Values and arguments are JSON. Never raises for what happens in the child.
    """
    with _folder() as folder:
        request = {
            "function": function,
            "argument": dict(argument),
            "memory_bytes": bounds.memory_bytes,
            "cpu_seconds": math.ceil(bounds.seconds * 2) + 2,  # the wall clock comes first; this holds if it cannot
            "output_bytes": bounds.output_bytes,
            "parent": os.getpid(),
        }
        (folder / REQUEST).write_text(json.dumps(request))
        code, memory, in_time = _live(folder, bounds)
        errors = (folder / STDERR).read_bytes()[-STDERR_KEPT:]
        if errors:
            logger.debug("the child of %s said: %s", function, errors.decode(errors="replace"))
        values, last = _read(folder / ITEMS)
    if last is not None and "code" in last:
        return values, Ended(_typed(last))
    if last is not None and code == 0:
        return values, Ended(None)
    return values, Ended(_cause(code, memory, in_time, errors, bounds), died=True)


def run_whole(function: str, argument: Mapping[str, Any], bounds: Bounds) -> list[Any]:
    """As `run`, all or nothing: the values, else the typed failure is raised."""
    values, ended = run(function, argument, bounds)
    if ended.failure is not None:
        raise ended.failure
    return values


def network_refused() -> bool:
    """Whether a child here is refused the network; False where the kernel has no filter of calls."""
    [refused] = run_whole("ingestion.seams.sandbox.walls:stands", {}, Bounds(memory_bytes=512 * 1024**2, seconds=60))
    return bool(refused)


def _live(folder: Path, bounds: Bounds) -> tuple[int, int, bool]:
    """Exit code, peak memory in bytes, and whether it ended by itself. Its whole process group is gone afterwards."""
    environment = {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ}
    environment |= dict.fromkeys(ONE_THREAD, "1")
    environment |= {"TMPDIR": str(folder), "HOME": str(folder), "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    with (folder / STDERR).open("wb") as stderr:
        child = subprocess.Popen(
            [sys.executable, "-P", "-s", "-m", "ingestion.seams.sandbox.child"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr, cwd=folder, env=environment,
            close_fds=True, start_new_session=True,
        )  # fmt: skip
    try:
        in_time = _watch(child, folder / ITEMS, bounds)
    finally:
        # The leader is not reaped yet or just was; its group id stays taken while any member of it lives.
        _kill_group(child.pid)
        code, memory = _reap(child)
    return code, memory, in_time


def _watch(child: subprocess.Popen[bytes], items: Path, bounds: Bounds) -> bool:
    """Wait for the end; False at the deadline of the run or of one item."""
    start = last_sign = time.monotonic()
    size, pause = 0, 0.002
    while not _has_ended(child.pid):
        now = time.monotonic()
        grown = items.stat().st_size if items.exists() else 0
        if grown != size:
            size, last_sign = grown, now
        if now - start > bounds.seconds or now - last_sign > bounds.item_seconds:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
    return True


def _has_ended(pid: int) -> bool:
    """True once the child is dead, leaving it to be reaped (its process id cannot be taken by another meanwhile)."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # nobody is left; macOS says so by a refusal
        return


def _reap(child: subprocess.Popen[bytes]) -> tuple[int, int]:
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)  # Popen must not wait for it again
    # Linux counts the peak of whoever started the child as the child's own: up to there the number tells nothing of it.
    peak = usage.ru_maxrss if usage.ru_maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss else 0
    return child.returncode, peak * (1 if sys.platform == "darwin" else 1024)


def _read(items: Path) -> tuple[list[Any], dict[str, Any] | None]:
    """The values of whole lines, and the closing line if there is one; a line cut short by a death is not a value."""
    values: list[Any] = []
    if not items.exists():
        return values, None
    with items.open("rb") as lines:
        for line in lines:
            if not line.endswith(b"\n"):
                break
            item = json.loads(line)
            if "value" not in item:
                return values, item
            values.append(item["value"])
    return values, None


def _typed(last: Mapping[str, Any]) -> IngestionError:
    kind, _ = DOCUMENT_FAILURES[last["code"]]
    return kind(last["code"], last["message"])


def _cause(code: int, memory: int, in_time: bool, errors: bytes, bounds: Bounds) -> IngestionError:
    if not in_time or code == -signal.SIGXCPU:
        return failure("parser_timeout", f"{min(bounds.seconds, bounds.item_seconds):.0f} seconds")
    if code == TOO_MUCH_OUTPUT:
        return failure("parser_output", f"at most {bounds.output_bytes // 1024**2} MiB")
    starved = code == OUT_OF_MEMORY or any(word in errors for word in MEMORY_WORDS) or memory > MEMORY_SHARE * bounds.memory_bytes
    if starved:
        return failure("parser_memory", f"at most {bounds.memory_bytes // 1024**2} MiB")
    return failure("parser_died", f"exit {code}")


@contextmanager
def _folder() -> Iterator[Path]:
    _sweep()
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@cache
def _sweep() -> None:
    """Once a process: remove the folders that processes killed in the middle left behind."""
    for entry in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = entry.name.removeprefix(PREFIX).split("-")[0]
        try:
            old = time.time() - entry.stat().st_mtime > STALE_SECONDS and entry.stat().st_uid == os.getuid()
        except OSError:
            continue
        if old and owner.isdigit() and not _alive(int(owner)):
            shutil.rmtree(entry, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
