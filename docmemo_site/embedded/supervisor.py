"""The one process that starts the embedded services and the application and keeps them running.

It holds `supervisor.lock` for as long as it lives, writes `status.json` whenever something changes, and
on SIGTERM stops everything, the application before the services.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from docmemo_site.embedded import process, services, state
from docmemo_site.embedded.control import service_rows
from docmemo_site.embedded.errors import EmbeddedError, StartFailed
from docmemo_site.embedded.home import Home, try_hold, write_private
from docmemo_site.embedded.programs import MIGRATE, PROGRAMS, Program, code_mark
from docmemo_site.settings import env

MIGRATE_SECONDS = 600.0
# One that lived this long before it died starts again without a pause.
HEALTHY_SECONDS = 60.0
LONGEST_PAUSE = 60.0
TICK_SECONDS = 0.25
LOG_CHECK_SECONDS = 30.0


@dataclass
class Watched:
    """One application process and what became of it."""

    program: Program
    child: subprocess.Popen[bytes] | None = None
    began: float = 0.0
    deaths: int = 0
    not_before: float = 0.0
    last_code: int | None = None

    @property
    def state(self) -> str:
        if self.child is None:
            return "restarting" if self.deaths else "down"
        return "running" if time.monotonic() - self.began >= self.program.settles else "starting"


class Supervisor:
    """Starts, watches and stops everything of one home."""

    def __init__(self, home: Home, programs: Sequence[Program] = PROGRAMS, migrate: Sequence[str] = MIGRATE) -> None:
        self.home = home
        self.migrate = migrate
        self.wanted = env.embedded_services()
        self.code = code_mark()
        self.stopping = threading.Event()
        self.watched = [Watched(program) for program in programs]
        self.state = "starting"
        self.reason = ""
        self.service_deaths = 0
        self._written = ""

    def run(self) -> int:
        """Live until SIGTERM or a failed start; returns the exit status."""
        signal.signal(signal.SIGTERM, lambda *_: self.stopping.set())
        signal.signal(signal.SIGINT, lambda *_: self.stopping.set())
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        code = 0
        try:
            self._start()
            self._watch()
        except EmbeddedError as error:
            self.state, self.reason, code = "failed", str(error), 1
            self._say(self.reason)
            self._publish()
        self._stop(failed=code != 0)
        return code

    # --- start -------------------------------------------------------------------------------------

    def _start(self) -> None:
        process.stop_marked(self.home, spare=self._service_processes())
        self._step("starting " + ", ".join(name for name in services.NAMES if name in self.wanted))
        services.start(self.home, self.wanted)
        self._step("bringing the database up to date")
        self._migrate()
        self._step("starting the application")

    def _service_processes(self) -> frozenset[int]:
        """Processes that are no leftovers: the services that still run, with their children."""
        known = state.load(self.home)
        if known is None:
            return frozenset()
        found = [services.running(self.home, known, name) for name in services.NAMES]
        running = {one.pid for one in found if one is not None}
        children = {one.pid for one in process.marked(self.home) if process.parent(one.pid) in running}
        return frozenset(running | children)

    def _migrate(self) -> None:
        log = self.home.log_file("migrate")
        child = process.spawn(self.migrate, log=log, env=self._environment(), cwd=env.REPOSITORY, dies_with_parent=True)
        deadline = time.monotonic() + MIGRATE_SECONDS
        while child.poll() is None:
            if self.stopping.wait(0.05) or time.monotonic() > deadline:
                child.kill()
                child.wait()
                raise StartFailed("The migrations were stopped before they ended.")
        if child.returncode != 0:
            raise StartFailed(f"The migrations failed:\n{process.last_lines(log)}")

    def _environment(self) -> dict[str, str]:
        return process.environment(self.home, PYTHONUNBUFFERED="1")

    # --- watch -------------------------------------------------------------------------------------

    def _watch(self) -> None:
        logs_checked = time.monotonic()
        while not self.stopping.wait(TICK_SECONDS):
            process.reap()
            self._keep_services()
            for one in self.watched:
                self._keep(one)
            if self.state != "running" and all(one.state == "running" for one in self.watched):
                self.state, self.reason = "running", ""
            elif self.state == "starting":
                waiting = [one for one in self.watched if one.state != "running"]
                self.reason = "waiting for " + ", ".join(_describe(one) for one in waiting)
            self._publish()
            if time.monotonic() - logs_checked > LOG_CHECK_SECONDS:
                logs_checked = time.monotonic()
                for log in self.home.log.glob("*.log"):
                    process.cap_log(log)

    def _keep_services(self) -> None:
        """Start a service again that has died. Its port stays, since the application knows it."""
        known = state.load_or_create(self.home)
        dead = [
            name for name in services.NAMES if name in self.wanted and services.running(self.home, known, name) is None
        ]
        if not dead:
            return
        self._say(f"{', '.join(dead)} died; starting again")
        self.service_deaths += 1
        try:
            services.start(self.home, self.wanted, move=False)
        except StartFailed as error:
            self._say(str(error))
            self.stopping.wait(_pause(self.service_deaths))

    def _keep(self, one: Watched) -> None:
        """Start a program that does not run, after a pause that grows with every early death."""
        now = time.monotonic()
        if one.child is not None:
            code = one.child.poll()
            if code is None:
                return
            process.kill_session(one.child.pid)
            one.deaths = 1 if now - one.began > HEALTHY_SECONDS else one.deaths + 1
            one.not_before = now + _pause(one.deaths)
            one.child, one.last_code = None, code
            process.forget_record(self.home, one.program.name)
            self._say(f"{one.program.name} ended with status {code}; next start in {_pause(one.deaths):.1f} s")
        if now < one.not_before:
            return
        one.child = process.spawn(
            one.program.argv,
            log=self.home.log_file(one.program.name),
            env={**self._environment(), **dict(one.program.environment)},
            cwd=env.REPOSITORY,
            dies_with_parent=True,
        )
        one.began = now
        process.store_record(self.home, one.program.name, one.child.pid)

    # --- stop --------------------------------------------------------------------------------------

    def _stop(self, *, failed: bool) -> None:
        if not failed:
            self.state, self.reason = "stopping", ""
            self._publish()
        asked = time.monotonic()
        for one in self.watched:
            if one.child is not None and one.child.poll() is None:
                one.child.terminate()
        for one in self.watched:
            if one.child is None:
                continue
            left = max(0.0, asked + one.program.grace - time.monotonic())
            try:
                one.child.wait(timeout=left)
            except subprocess.TimeoutExpired:
                self._say(f"{one.program.name} did not stop by itself")
            process.kill_session(one.child.pid)
            one.child.wait()
            process.forget_record(self.home, one.program.name)
        process.stop_marked(self.home, spare=self._service_processes())
        services.stop(self.home)
        process.reap()
        if not failed:
            self.state = "stopped"
            self._publish()

    # --- tell --------------------------------------------------------------------------------------

    def _step(self, what: str) -> None:
        if self.stopping.is_set():
            raise StartFailed("It was told to stop while it was starting.")
        self.reason = what
        self._say(what)
        self._publish()

    def _say(self, line: str) -> None:
        print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), line, flush=True)

    def _publish(self) -> None:
        """Write the status file if anything in it has changed."""
        known = state.load(self.home)
        rows = [] if known is None else service_rows(self.home, known)
        rows += [
            {
                "name": one.program.name,
                "pid": None if one.child is None else one.child.pid,
                "state": one.state,
                "address": "",
                "log": str(self.home.log_file(one.program.name)),
                "deaths": one.deaths,
                "last_status": one.last_code,
            }
            for one in self.watched
        ]
        said = json.dumps(
            {
                "state": self.state,
                "reason": self.reason,
                "supervisor": os.getpid(),
                "code": self.code,
                "processes": rows,
            },
            indent=1,
        )
        if said != self._written:
            write_private(self.home.status_file, said)
            self._written = said


def _pause(deaths: int) -> float:
    return min(LONGEST_PAUSE, 0.5 * 2.0 ** (deaths - 1))


def _describe(one: Watched) -> str:
    if one.deaths:
        return f"{one.program.name} (ended {one.deaths} times, last with status {one.last_code})"
    return one.program.name


def main(programs: Sequence[Program] = PROGRAMS, migrate: Sequence[str] = MIGRATE) -> int:
    """Become the supervisor of the home that the environment names; 3 when it has one already."""
    parser = argparse.ArgumentParser(description="Watch over the embedded services and the application.")
    parser.add_argument("--detach", action="store_true", help="return at once and go on in the background")
    arguments = parser.parse_args()
    home = Home(env.home())
    home.prepare()
    held = try_hold(home.supervisor_lock)
    if held is None:
        print("another supervisor runs", flush=True)
        return 3
    if arguments.detach and os.fork() > 0:
        # The child goes on with the lock; whoever called waits for nothing and owns no child.
        os._exit(0)
    process.store_record(home, "supervisor", os.getpid())
    return Supervisor(home, programs, migrate).run()


if __name__ == "__main__":
    sys.exit(main())
