"""What a drill breaks. Each fault is aimed at a process that is busy, and says what that process was doing when it was struck."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from django.conf import settings

from docmemo_site.drill import sightings
from docmemo_site.drill.brokers import Kafka
from docmemo_site.drill.embedder import embedder_tell
from docmemo_site.embedded import control, kafka, postgres, process, services, state
from docmemo_site.embedded.home import Home
from docmemo_site.settings.work import workers

PILE_SECONDS = 1.0
AIM_SECONDS = 12.0  # how long a fault waits for its target to be busy
MEET_SECONDS = 45.0  # how long for a stage that embeds: new documents are inspected first
WORK_SECONDS = 16.0  # how long for any work: what an emptied queue forgot is offered again after ten
BACK_SECONDS = 150.0
FAIL_SECONDS, HANG_SECONDS = 2.0, 6.0
IDLE = "idle"


@dataclass(frozen=True)
class Fault:
    """One fault as it happened. `back` is whether what it struck ran again within the bound."""

    kind: str
    at: str
    interrupted: str
    back: bool = True


class NotBack(Exception):
    """What was struck did not come back."""


class Breaker:
    """Breaks things of one home; `kinds` names what it can break there."""

    def __init__(self, home: Home, seed: int, brokers: Kafka | None) -> None:
        self.home = home
        self.draw = random.Random(seed + 1)
        self.brokers = brokers
        self.immediate = False
        self.log: list[Fault] = []
        self.at = ""
        self.by_kind: dict[str, Callable[[], str]] = {
            "worker_child": lambda: self._worker(signal.SIGKILL),
            "worker_frozen": lambda: self._worker(signal.SIGSTOP),
            "worker_main": self._worker_main,
            "consumer": lambda: self._program("consumer"),
            "relay": lambda: self._program("relay"),
            "sweeper": lambda: self._program("sweeper"),
            "broker": self._broker,
            "valkey": lambda: self._service("valkey", signal.SIGKILL),
            "postgres": self._postgres,
            "embedder_fails": lambda: self._embedder("fail", FAIL_SECONDS),
            "embedder_hangs": lambda: self._embedder("hang", HANG_SECONDS),
        }

    def schedule(self, times: int) -> list[str]:
        """Every kind `times` times and one emptied Valkey, in a seeded order. A cluster loses one broker, once and for good."""
        kinds = [kind for kind in self.by_kind for _ in range(times)]
        if self.brokers is not None and len(self.brokers.nodes) > 1:
            kinds = [kind for kind in kinds if kind != "broker"] + ["broker"]
        kinds.append("valkey_emptied")
        self.draw.shuffle(kinds)
        return kinds

    def strike(self, kind: str) -> Fault:
        """Break one thing and wait until it is there again; what is not is recorded as not back."""
        back = True
        self._mark()
        try:
            if kind not in ("consumer", "relay"):  # theirs is what is being sent right now
                self._busy()
            interrupted = self._valkey_emptied() if kind == "valkey_emptied" else self.by_kind[kind]()
        except NotBack as error:
            interrupted, back = str(error), False
        fault = Fault(kind, self.at, interrupted, back)
        self.log.append(fault)
        return fault

    def _mark(self) -> None:
        """Now is when it happens."""
        self.at = datetime.now(UTC).isoformat(timespec="milliseconds")

    # --- workers -----------------------------------------------------------------------------------

    def _worker(self, number: signal.Signals) -> str:
        """Kill, or freeze for longer than its lease, a worker's process that holds a stage run."""
        deadline = time.monotonic() + AIM_SECONDS
        while time.monotonic() < deadline:
            for held in sightings.held_runs():
                with sightings.held_still(held.pid):
                    if not sightings.still_holds(held):
                        continue
                    self._mark()
                    if number is signal.SIGSTOP:
                        time.sleep(min(15, settings.PIPELINE["LEASE_SECONDS"]) + 4)  # past the lease and the sweeper's round
                    else:
                        os.kill(held.pid, signal.SIGKILL)
                    return str(held)
            time.sleep(self.draw.uniform(0.0, 0.03))
        return IDLE

    def _worker_main(self) -> str:
        """Kill a worker's main process while one of its processes holds a stage run."""
        mains = {self._running(one.name): one.name for one in workers()}
        pid, doing = self.draw.choice(sorted(mains)), IDLE
        deadline = time.monotonic() + AIM_SECONDS
        while doing == IDLE and time.monotonic() < deadline:
            for held in sightings.held_runs():
                if process.parent(held.pid) in mains:
                    pid, doing = process.parent(held.pid), str(held)
                    break
        self._mark()
        os.kill(pid, signal.SIGKILL)
        self._wait_back(mains[pid], pid, doing)
        return doing

    # --- programs of one process ---------------------------------------------------------------------

    def _program(self, name: str) -> str:
        """Kill a program in the middle of a transaction, if it can be met so; what is sent meanwhile piles up before it first."""
        pid = self._running(name)
        with sightings.held_still(pid):
            time.sleep(PILE_SECONDS)
        time.sleep(self.draw.uniform(0.0, 0.1))
        deadline = time.monotonic() + AIM_SECONDS
        while time.monotonic() < deadline:
            with sightings.held_still(pid):
                doing = sightings.transaction_of(pid)
                if doing:
                    self._mark()
                    os.kill(pid, signal.SIGKILL)
                    break
            time.sleep(self.draw.uniform(0.0, 0.02))
        else:
            doing = IDLE
            self._mark()
            os.kill(pid, signal.SIGKILL)
        doing = f"{doing}; {sightings.waiting()}"
        if name == "consumer":
            doing = f"{doing}; {sightings.offsets_in_flight(settings.KAFKA_BOOTSTRAP_SERVERS)}"
        self._wait_back(name, pid, doing)
        return doing

    def _running(self, name: str) -> int:
        if not process.wait_until(lambda: sightings.program_pid(self.home, name) is not None, seconds=BACK_SECONDS, pause=0.1):
            raise NotBack(f"{name} did not run before it could be struck")
        pid = sightings.program_pid(self.home, name)
        if pid is None:
            raise NotBack(f"{name} died before it could be struck")
        return pid

    def _wait_back(self, name: str, before: int, doing: str) -> None:
        if not process.wait_until(lambda: sightings.program_pid(self.home, name) not in (None, before), seconds=BACK_SECONDS, pause=0.1):
            raise NotBack(f"{doing}; {name} did not come back within {BACK_SECONDS:.0f} seconds")

    # --- services ------------------------------------------------------------------------------------

    def _busy(self) -> str:
        """What is under way, once any stage run is held by a living process."""
        process.wait_until(lambda: bool(sightings.held_runs()), seconds=WORK_SECONDS, pause=0.02)
        return sightings.waiting()

    def _service(self, name: str, number: signal.Signals) -> str:
        doing = self._busy()
        known = state.load_or_create(self.home)
        found = services.running(self.home, known, name)
        if found is None:
            raise NotBack(f"{name} did not run before it could be struck")
        self._mark()
        os.kill(found.pid, number)
        if not process.wait_until(lambda: not found.alive(), seconds=30):
            raise NotBack(f"{doing}; {name} outlived its signal")
        if not process.wait_until(lambda: self._answers(name, known), seconds=BACK_SECONDS, pause=0.2):
            raise NotBack(f"{doing}; {name} did not come back within {BACK_SECONDS:.0f} seconds")
        return doing

    def _answers(self, name: str, known: state.Services) -> bool:
        if name == "postgres":
            return postgres.running(self.home) is not None and postgres.answers(known)
        if name == "kafka":
            return kafka.running(self.home) is not None and kafka.listens(known)
        return services.valkey.answering(known) is not None

    def _postgres(self) -> str:
        """By turns the postmaster's sudden death and its immediate stop."""
        self.immediate = not self.immediate
        return self._service("postgres", signal.SIGQUIT if self.immediate else signal.SIGKILL)

    def _broker(self) -> str:
        """The embedded broker, the one node, or one of three, which then stays dead."""
        if self.brokers is None:
            return self._service("kafka", signal.SIGKILL)
        doing = self._busy()
        alive = [node for node in self.brokers.nodes if node.record is not None and node.record.alive()]
        node = self.draw.choice(alive)
        self._mark()
        self.brokers.kill(node)
        if len(self.brokers.nodes) == 1:
            self.brokers.spawn(node)
            self.brokers.wait(node)
        return f"node {node.number}; {doing}"

    def _valkey_emptied(self) -> str:
        """Everything that Celery had queued is gone."""
        import redis

        doing = self._busy()
        client = redis.Redis.from_url(settings.CELERY_BROKER_URL, socket_timeout=5)
        queued = client.dbsize()
        self._mark()
        client.flushall()
        client.close()
        return f"{queued} keys; {doing}"

    # --- the embedder --------------------------------------------------------------------------------

    def _embedder(self, mode: str, seconds: float) -> str:
        """Make the embedder fail or hang for a while from the moment that a stage meets it."""
        met = settings.DRILL_CONTROL / f"met-{mode}"
        met.unlink(missing_ok=True)
        doing = self._busy()
        embedder_tell(settings.DRILL_CONTROL, mode, MEET_SECONDS)
        if process.wait_until(met.exists, seconds=MEET_SECONDS, pause=0.02):
            self._mark()
            embedder_tell(settings.DRILL_CONTROL, mode, seconds)
            time.sleep(seconds)
        return f"{'an embed stage met it' if met.exists() else IDLE}; {doing}"


def everything_runs(home: Home) -> bool:
    """Whether the supervisor says that each program and service of the home runs."""
    now = control.status(home)
    return now.state == "up" and all(row["state"] == "running" for row in now.processes)
