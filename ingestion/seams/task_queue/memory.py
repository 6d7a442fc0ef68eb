"""The fake task queue: keeps what was offered, for a test to run by hand."""

from __future__ import annotations

from collections.abc import Sequence


class MemoryQueue:
    def __init__(self) -> None:
        self.offered: list[tuple[str, tuple[str, ...], str]] = []

    def enqueue(self, task: str, arguments: Sequence[str], queue: str, priority: int = 5) -> None:
        self.offered.append((task, tuple(arguments), queue))

    def take(self) -> tuple[str, tuple[str, ...], str] | None:
        return self.offered.pop(0) if self.offered else None
