"""Whether the site can serve: each thing it needs, with its state and a short cause that holds no secret, within a bounded time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from django.db import DatabaseError, connections
from django.db.migrations.loader import MigrationLoader
from django.db.utils import ConnectionDoesNotExist

from ingestion.seams import load
from ingestion.seams.event_bus import BusUnavailable
from ingestion.seams.task_queue import QueueUnavailable
from ingestion.selectors.queues import statements
from qa.selectors.queue import all_queues

SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Check:
    """`state` is ok or down; `cause` names what to look at, never an address with a password."""

    name: str
    state: str
    cause: str = ""


class NotReady(Exception):
    """A thing that is needed does not answer as it must."""


def _database() -> None:
    for alias in ("default", "evidence"):
        try:
            with connections[alias].cursor() as cursor:
                cursor.execute("select 1")
        except (DatabaseError, ConnectionDoesNotExist):
            raise NotReady(f"the database connection {alias} cannot be made") from None


def _migrations() -> None:
    try:
        loader = MigrationLoader(connections["default"])
    except DatabaseError:
        raise NotReady("the database cannot be asked") from None
    left = len(set(loader.graph.nodes) - set(loader.applied_migrations))
    if left:
        raise NotReady(f"{left} migrations are not applied: run manage.py migrate")


def _broker() -> None:
    try:
        load("task_queue").depth("publish")
    except QueueUnavailable:
        raise NotReady("the broker of the task queue does not answer") from None


def _event_bus() -> None:
    try:
        load("event_bus").check(SECONDS - 1)
    except BusUnavailable:
        raise NotReady("the event bus does not answer") from None


def _blobs() -> None:
    store, key = load("blobs"), f"health/{socket.gethostname()}"
    try:
        store.delete(key)
        store.put(key, b"ready")
        store.delete(key)
    except OSError as error:
        raise NotReady(f"the blob store cannot be written: {type(error).__name__}") from None


CHECKS: dict[str, Callable[[], None]] = {
    "database": _database,
    "migrations": _migrations,
    "broker": _broker,
    "event_bus": _event_bus,
    "blobs": _blobs,
}


class Prober:
    """Runs the checks side by side. One that hangs stays the only one of its kind: further asks do not pile up behind it."""

    def __init__(self, checks: dict[str, Callable[[], None]], seconds: float = SECONDS) -> None:
        self.checks, self.seconds = checks, seconds
        self._threads = ThreadPoolExecutor(max_workers=len(checks), thread_name_prefix="readiness")
        self._under_way: dict[str, Future[str]] = {}
        self._lock = threading.Lock()

    def look(self) -> list[Check]:
        """Every check's outcome, after `seconds` at most."""
        with self._lock:
            for name, check in self.checks.items():
                if name not in self._under_way or self._under_way[name].done():
                    self._under_way[name] = self._threads.submit(self._outcome, check)
            asked = dict(self._under_way)
        done, _ = wait(asked.values(), timeout=self.seconds)
        found = []
        for name, future in asked.items():
            cause = self._result(future) if future in done else f"no answer within {self.seconds:.0f} seconds"
            found.append(Check(name, "down" if cause else "ok", cause))
        return found

    @staticmethod
    def _result(future: Future[str]) -> str:
        error = future.exception()
        return future.result() if error is None else f"the check broke: {type(error).__name__}"

    @staticmethod
    def _outcome(check: Callable[[], None]) -> str:
        try:
            check()
        except NotReady as error:
            return str(error)
        finally:
            for connection in connections.all(initialized_only=True):
                connection.close()
        return ""


def work_without_workers() -> list[str]:
    """One sentence for each queue that has work and no worker; nothing where the database cannot be asked."""
    try:
        return statements(all_queues())
    except DatabaseError:
        return []


PROBER = Prober(CHECKS)
