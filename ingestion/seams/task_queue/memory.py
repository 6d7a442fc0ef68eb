"""The fake task queue: keeps what was offered, for a test to run by hand."""

from __future__ import annotations

from collections.abc import Sequence


class MemoryQueue:
    """Gives out the highest priority first, and the oldest among equals."""

    def __init__(self) -> None:
        self.offered: list[tuple[str, tuple[str, ...], str, int]] = []

    def enqueue(
        self, task: str, arguments: Sequence[str], queue: str, priority: int = 5, seconds: int | None = None
    ) -> None:
        self.offered.append((task, tuple(arguments), queue, priority))

    def depth(self, queue: str) -> int:
        return sum(offer[2] == queue for offer in self.offered)

    def take(self) -> tuple[str, tuple[str, ...], str] | None:
        if not self.offered:
            return None
        first = max(range(len(self.offered)), key=lambda place: (self.offered[place][3], -place))
        return self.offered.pop(first)[:3]
