"""Handing work to a worker. A task that is lost is found again in the database, never trusted to the broker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class QueueUnavailable(Exception):
    """The broker did not take the task; the sweeper will offer it again."""


class TaskQueue(Protocol):
    def enqueue(
        self, task: str, arguments: Sequence[str], queue: str, priority: int = 5, seconds: int | None = None
    ) -> None:
        """Offer the task once, 9 going first and 0 last. Arguments are identifiers only. Raises `QueueUnavailable`.

        `seconds` is how long it may take; a worker stops what takes longer.
        """

    def depth(self, queue: str) -> int:
        """How many tasks wait in the broker for a worker. Raises `QueueUnavailable`."""
