"""Processes that outlive the command that started them: start, recognise, stop, find again.

A process id alone proves nothing, since ids are used again. A record therefore also keeps when its
process began, and every process carries the mark `DOCMEMO_SUPERVISED=<home>` in its environment, by
which leftovers are found even where their record was lost.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from docmemo_site.embedded.home import Home, write_private
from docmemo_site.settings.env import child_environment

MARK = "DOCMEMO_SUPERVISED"
NOBODY = 65534
LOG_BYTES = 8 * 1024 * 1024
_PR_SET_PDEATHSIG = 1
_children: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class ProcessRecord:
    """One process: its id and a token of when it began."""

    pid: int
    began: str

    def alive(self) -> bool:
        """Whether this very process still runs; a zombie does not."""
        reap()
        return began(self.pid) == self.began


def began(pid: int) -> str | None:
    """A token of when `pid` began, or None where it does not run or is a zombie."""
    if sys.platform == "linux":
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return None
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in "ZX" else fields[19]
    answer = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.split(maxsplit=1)
    return None if len(answer) < 2 or answer[0].startswith("Z") else answer[1].strip()


def environment(home: Home, **more: str) -> dict[str, str]:
    """The environment of a process of `home`, with its mark."""
    return child_environment(DOCMEMO_HOME=str(home.root), **{MARK: str(home.root)}, **more)


def spawn(
    argv: Sequence[str | os.PathLike[str]],
    *,
    log: Path,
    env: Mapping[str, str],
    cwd: Path,
    user: int | None = None,
    dies_with_parent: bool = False,
) -> subprocess.Popen[bytes]:
    """Start `argv` in a session of its own, with no input and its output appended to `log`."""
    cap_log(log)
    with open(log, "ab") as output:
        child = subprocess.Popen(
            [os.fspath(part) for part in argv],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
            user=user,
            group=user,
            extra_groups=[] if user is not None else None,
            preexec_fn=_death_signal() if dies_with_parent else None,  # noqa: PLW1509  (one thread only)
        )
    _children.append(child)
    return child


def _death_signal() -> Callable[[], None] | None:
    """What makes Linux end a child when its parent is killed; None elsewhere."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)

    def ask() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)

    return ask


def reap() -> None:
    """Collect children that have ended, so that none stays behind as a zombie."""
    _children[:] = [child for child in _children if child.poll() is None]


def record(pid: int) -> ProcessRecord | None:
    """The record of a running process, or None where it has already ended."""
    token = began(pid)
    return None if token is None else ProcessRecord(pid, token)


def store_record(home: Home, name: str, pid: int) -> None:
    """Remember `pid` as the process `name` of `home`."""
    found = record(pid)
    if found is not None:
        write_private(home.record_file(name), json.dumps(asdict(found)))


def load_record(home: Home, name: str) -> ProcessRecord | None:
    """The remembered process `name`, or None where there is none or its file is damaged."""
    try:
        return ProcessRecord(**json.loads(home.record_file(name).read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def forget_record(home: Home, name: str) -> None:
    """Remove what is remembered of the process `name`."""
    home.record_file(name).unlink(missing_ok=True)


def wait_until(ready: Callable[[], bool], *, seconds: float, pause: float = 0.05) -> bool:
    """Poll `ready` until it holds; False when it did not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True


def stop(target: ProcessRecord, *, steps: Sequence[tuple[signal.Signals, float]]) -> bool:
    """Send each signal of `steps` and wait its seconds; True when the process has ended."""
    for number, seconds in steps:
        if not target.alive():
            break
        _send(target.pid, number)
        wait_until(lambda: not target.alive(), seconds=seconds)
    return not target.alive()


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _send_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return


def kill_session(leader: int) -> None:
    """Kill what is left of the group of a process that was started by `spawn`."""
    _send_group(leader, signal.SIGKILL)


def parent(pid: int) -> int | None:
    """The parent of a process, on Linux; None elsewhere or where the process has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return None


def marked(home: Home) -> list[ProcessRecord]:
    """Every running process with the mark of `home`, this one left out. Linux only; elsewhere empty."""
    wanted = f"{MARK}={home.root}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if wanted not in (entry / "environ").read_bytes().split(b"\0"):
                continue
        except OSError:
            continue
        one = record(int(entry.name))
        if one is not None and one.pid != os.getpid():
            found.append(one)
    return found


def stop_marked(home: Home, *, seconds: float = 3.0, spare: frozenset[int] = frozenset()) -> list[int]:
    """End every leftover process of `home` but those in `spare`; returns the ids that were ended."""
    left = [one for one in marked(home) if one.pid not in spare]
    for one in left:
        _send(one.pid, signal.SIGTERM)
    wait_until(lambda: not any(one.alive() for one in left), seconds=seconds)
    for one in left:
        if one.alive():
            _send(one.pid, signal.SIGKILL)
    wait_until(lambda: not any(one.alive() for one in left), seconds=seconds)
    return [one.pid for one in left]


def cap_log(log: Path) -> None:
    """Keep a log small: past its cap it becomes `<name>.1` and starts again from nothing."""
    if log.exists() and log.stat().st_size > LOG_BYTES:
        # The writer has the file open for appending: its content moves, the file stays.
        log.with_name(log.name + ".1").write_bytes(log.read_bytes()[-LOG_BYTES:])
        os.truncate(log, 0)


def last_lines(log: Path, count: int = 8) -> str:
    """The end of a log, for a message about a failed start."""
    if not log.exists():
        return "(no log)"
    return "\n".join(log.read_bytes()[-8000:].decode(errors="replace").splitlines()[-count:])
