"""Where bytes are kept: documents, page pictures. Keys are made by us and never by a sender."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Protocol


class BlobMissing(KeyError):
    """No blob is stored under this key."""


class Blobs(Protocol):
    """A store of immutable byte strings under keys such as `organisation/ab/abcdef...`."""

    def put(self, key: str, source: Path | bytes) -> int:
        """Store the bytes under `key` atomically and durably; the same key again is a no-op. Returns the size in bytes."""

    def open(self, key: str) -> BinaryIO:
        """A readable, seekable stream. Raises `BlobMissing`."""

    def local_path(self, key: str) -> AbstractContextManager[Path]:
        """A read-only file of the blob's bytes for the length of the `with` block. Raises `BlobMissing`."""

    def exists(self, key: str) -> bool: ...

    def delete(self, key: str) -> None:
        """Remove the blob; a key that is not there is a no-op."""

    def unfinished_clear(self, older_than_seconds: float, only_count: bool = False) -> int:
        """Remove, or only count, what puts that were cut off have left behind, if it is older; returns how many files."""

    def keys(self, prefix: str = "") -> Iterator[str]:
        """All keys that start with `prefix`."""
