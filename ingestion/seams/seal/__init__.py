"""Keeping a secret that has to be read again (the password of a document) so that the database alone does not give it away."""

from __future__ import annotations

from typing import Protocol


class SealBroken(ValueError):
    """The bytes were sealed under another key, or are damaged."""


class Seal(Protocol):
    def close(self, secret: str) -> bytes:
        """The secret as bytes that tell nothing without the key; the same secret gives other bytes each time."""

    def open(self, sealed: bytes) -> str:
        """The secret again. Raises `SealBroken`."""
