"""A log of events by key, with consumer groups. Nothing may live in the broker alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Message:
    topic: str
    key: bytes | None
    value: bytes
    headers: Mapping[str, bytes] = field(default_factory=dict)
    partition: int = -1
    offset: int = -1


class BusUnavailable(Exception):
    """The broker could not be reached within the bound."""


class Publisher(Protocol):
    def publish(self, messages: Sequence[Message]) -> None:
        """All are acknowledged by the broker when this returns; else `BusUnavailable` and any of them may have arrived."""

    def close(self) -> None: ...


class Subscription(Protocol):
    def poll(self, seconds: float, limit: int) -> list[Message]: ...

    def commit(self) -> None:
        """Everything that was polled is done with."""

    def pause(self) -> None:
        """Deliver nothing until `resume`, also from partitions that are assigned meanwhile; polling goes on, so membership does too."""

    def resume(self) -> None: ...

    def lag(self) -> int:
        """How many messages of its partitions have not been polled yet. Raises `BusUnavailable`."""

    def close(self) -> None: ...


class EventBus(Protocol):
    def check(self, seconds: float) -> None:
        """Returns when the broker answers within the time. Raises `BusUnavailable`."""

    def ensure_topics(self, topics: Mapping[str, int]) -> None:
        """Make the topics that are missing (name -> partitions)."""

    def publisher(self) -> Publisher: ...

    def subscribe(self, group: str, topics: Sequence[str]) -> Subscription: ...

    def read_all(self, topic: str) -> Iterator[Message]:
        """Everything the broker holds of a topic now, from the beginning."""
