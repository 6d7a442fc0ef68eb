"""Stores of other apps that hold something derived from a document; deletion reaches them through this contract."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID


class DerivedStore(Protocol):
    name: str

    def count(self, document: UUID, versions: frozenset[UUID]) -> int:
        """How many rows or files rest on these versions of the document."""

    def purge(self, document: UUID, versions: frozenset[UUID]) -> int:
        """Remove them all; returns how many there were. Doing it twice is harmless."""


_stores: dict[str, DerivedStore] = {}


def register(store: DerivedStore) -> None:
    """Make a store known; the same name again replaces it."""
    _stores[store.name] = store


def registered() -> tuple[DerivedStore, ...]:
    return tuple(_stores.values())
