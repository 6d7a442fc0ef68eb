"""What commands call: bring the embedded default up, take it down, say how it stands."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from docmemo_site.embedded import process, services, state
from docmemo_site.embedded.errors import StartFailed
from docmemo_site.embedded.home import Home, is_held, locked
from docmemo_site.embedded.programs import code_mark
from docmemo_site.settings import env

UP_SECONDS = 180.0
DOWN_SECONDS = 90.0
# A program that ended this often during one start is broken, not slow.
HOPELESS_DEATHS = 4
SUPERVISOR = (sys.executable, "-m", "docmemo_site.embedded.supervisor")
Say = Callable[[str], None]


def _silent(_line: str) -> None:
    return


@dataclass(frozen=True)
class Report:
    """How the embedded default stands. `state` is external, up, services, starting, failed or down."""

    state: str
    reason: str = ""
    processes: list[dict[str, object]] = field(default_factory=list)


def status(home: Home) -> Report:
    """How the embedded default of `home` stands now; starts nothing."""
    if not env.embedded_services():
        return Report("external")
    if is_held(home.supervisor_lock):
        said = _said(home)
        words = {"running": "up", "stopping": "starting"}
        name = str(said.get("state", "starting"))
        return Report(words.get(name, name), str(said.get("reason", "")), list(said.get("processes", [])))
    known = state.load(home)
    if known is None:
        return Report("down")
    rows = service_rows(home, known)
    return Report("services" if all(row["state"] == "running" for row in rows) else "down", processes=rows)


def service_rows(home: Home, known: state.Services) -> list[dict[str, object]]:
    """One row for each embedded service in use: name, pid, state, address and log."""
    rows = []
    for name in services.NAMES:
        if name not in env.embedded_services():
            continue
        found = services.running(home, known, name)
        rows.append(
            {
                "name": name,
                "pid": None if found is None else found.pid,
                "state": "down" if found is None else "running",
                "address": f"{state.HOST}:{known.port(name)}",
                "log": str(home.log_file(name)),
            }
        )
    return rows


def _said(home: Home) -> dict[str, object]:
    try:
        return json.loads(home.status_file.read_text())
    except (FileNotFoundError, ValueError):
        return {}


def up(
    home: Home,
    *,
    services_only: bool = False,
    seconds: float = UP_SECONDS,
    fresh: bool = False,
    say: Say = _silent,
    supervisor: Sequence[str] = SUPERVISOR,
) -> Report:
    """Bring everything of the embedded default up, or only its services; raises EmbeddedError.

    Returns when all of it answers. Nothing that already runs is touched, unless it failed to start or
    with `fresh` runs another state of the code.
    """
    wanted = env.embedded_services()
    if not wanted:
        return Report("external")
    state.load_or_create(home)
    home.prepare()
    with locked(home.control_lock, seconds=seconds):
        now = status(home)
        if is_held(home.supervisor_lock) and (_hopeless(now) or (fresh and _outdated(home))):
            say("stopping processes that run old code or failed to start")
            _stop_supervisor(home, DOWN_SECONDS)
            now = status(home)
        if now.state == "up" or (services_only and now.state == "services"):
            return now
        if services_only and not is_held(home.supervisor_lock):
            say("starting " + ", ".join(name for name in services.NAMES if name in wanted))
            known = services.start(home, wanted)
            return Report("services", processes=service_rows(home, known))
        if not is_held(home.supervisor_lock):
            _start_supervisor(home, supervisor, say)
        return _wait_for_supervisor(home, seconds, say)


def _start_supervisor(home: Home, argv: Sequence[str], say: Say) -> None:
    """Start the one process that watches over all others, detached from this one."""
    say("starting the supervisor")
    home.status_file.unlink(missing_ok=True)
    starter = process.spawn(
        [*argv, "--detach"],
        log=home.log_file("supervisor"),
        env=process.environment(home),
        cwd=env.REPOSITORY,
    )
    try:
        code = starter.wait(timeout=30)
    except subprocess.TimeoutExpired:
        raise StartFailed("The supervisor did not detach within 30 seconds.") from None
    if code != 0:
        raise StartFailed(f"The supervisor failed:\n{process.last_lines(home.log_file('supervisor'))}")


def _wait_for_supervisor(home: Home, seconds: float, say: Say) -> Report:
    """Wait until the supervisor says that all runs; raises StartFailed with its reason otherwise."""
    shown = ""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        now = status(home)
        if now.state == "up":
            return now
        if now.state == "failed" or not is_held(home.supervisor_lock):
            # It stops what it had started; the next attempt must not meet it.
            process.wait_until(lambda: not is_held(home.supervisor_lock), seconds=60)
            reason = str(_said(home).get("reason", "")) or process.last_lines(home.log_file("supervisor"))
            raise StartFailed(f"The start failed: {reason}")
        for name in _hopeless(now):
            raise StartFailed(f"{name} does not stay up:\n{process.last_lines(home.log_file(name))}")
        if now.reason and now.reason != shown:
            shown = now.reason
            say(shown)
        time.sleep(0.1)
    raise StartFailed(f"Not everything was ready after {seconds:.0f} seconds. Last: {shown or 'no word'}")


def _hopeless(now: Report) -> list[str]:
    """Programs that died again and again during a start that has not ended."""
    if now.state == "up":
        return []
    return [str(row["name"]) for row in now.processes if int(row.get("deaths", 0)) >= HOPELESS_DEATHS]


def _outdated(home: Home) -> bool:
    return _said(home).get("code") != code_mark()


def _stop_supervisor(home: Home, seconds: float) -> None:
    """End the supervisor, which ends everything else; kill it if it does not end by itself."""
    supervisor = process.load_record(home, "supervisor")
    if supervisor is not None and is_held(home.supervisor_lock):
        process.stop(supervisor, steps=((signal.SIGTERM, seconds), (signal.SIGKILL, 5.0)))
    process.forget_record(home, "supervisor")


def down(home: Home, *, seconds: float = DOWN_SECONDS, say: Say = _silent) -> list[int]:
    """Stop everything of `home`, leftovers of killed runs included; returns leftovers that were ended.

    Never waits longer than about `seconds`: what does not stop is killed.
    """
    if not home.run.exists():
        return []
    with locked(home.control_lock, seconds=seconds):
        if is_held(home.supervisor_lock):
            say("stopping the supervisor and what it watches")
        _stop_supervisor(home, seconds)
        if state.load(home) is not None:
            services.stop(home)
        return process.stop_marked(home, spare=frozenset({os.getpid(), os.getppid()}))


def remove(home: Home) -> None:
    """Stop everything of `home` and delete all its data."""
    if home.root.exists():
        down(home)
    shutil.rmtree(home.outside, ignore_errors=True)
    shutil.rmtree(home.root, ignore_errors=True)


def ensure_up(
    *, services_only: bool = False, seconds: float = UP_SECONDS, fresh: bool = False, say: Say | None = None
) -> Report:
    """What a command calls before it needs the services: returns once they are there.

    With `fresh`, processes that still run an older state of the code are started again.
    Returns at once where all runs already or services of the user's own are configured. Where a port
    had to move after this process read its settings, the process starts itself anew, once.
    """
    home = Home(env.home())
    before = state.load(home)
    report = up(home, services_only=services_only, seconds=seconds, fresh=fresh, say=say or _to_stderr)
    if report.state != "external" and before is not None and state.load(home) != before:
        _start_anew()
    return report


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _start_anew() -> None:
    """Replace this process by a new one with the same arguments, which then reads the new addresses."""
    if env.already_restarted():
        raise StartFailed("The addresses of the services moved twice during one start.")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, sys.orig_argv, env.child_environment(DOCMEMO_RESTARTED="1"))
