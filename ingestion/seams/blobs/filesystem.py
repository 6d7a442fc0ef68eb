"""Blobs as files below one folder; writes are atomic and synced."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ingestion.seams.blobs import BlobMissing


class FilesystemBlobs:
    """Keys become paths below `root`; a key that would leave it is refused with `ValueError`."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).resolve()

    def _path(self, key: str) -> Path:
        path = (self.root / key).resolve()
        if not key or key.startswith("/") or not path.is_relative_to(self.root) or path == self.root:
            raise ValueError("the key leaves the blob store")
        return path

    def put(self, key: str, source: Path | bytes) -> int:
        path = self._path(key)
        if path.exists():
            return path.stat().st_size
        path.parent.mkdir(parents=True, exist_ok=True)
        if not _put_nameless(path, source):
            _put_renamed(path, source)
        return path.stat().st_size

    def open(self, key: str) -> BinaryIO:
        try:
            return self._path(key).open("rb")
        except FileNotFoundError:
            raise BlobMissing(key) from None

    @contextmanager
    def local_path(self, key: str) -> Iterator[Path]:
        path = self._path(key)
        if not path.is_file():
            raise BlobMissing(key)
        yield path

    def exists(self, key: str) -> bool:
        return self._path(key).is_file()

    def delete(self, key: str) -> None:
        self._path(key).unlink(missing_ok=True)

    def unfinished_clear(self, older_than_seconds: float, only_count: bool = False) -> int:
        left = [path for path in self.root.rglob(".new-*") if time.time() - path.stat().st_mtime > older_than_seconds]
        for path in left if not only_count else ():
            path.unlink(missing_ok=True)
        return len(left)

    def keys(self, prefix: str = "") -> Iterator[str]:
        folder = self.root / prefix.rpartition("/")[0]  # not the whole store for what lies in one folder of it
        if ".." in folder.parts:
            raise ValueError("the key leaves the blob store")
        for path in folder.rglob("*"):
            if path.is_file() and not path.name.startswith(".new-"):
                key = path.relative_to(self.root).as_posix()
                if key.startswith(prefix):
                    yield key


def _put_nameless(path: Path, source: Path | bytes) -> bool:
    """Write a file that gets its name when it is whole: a writer that dies leaves nothing behind. False where there are none such."""
    if not hasattr(os, "O_TMPFILE"):
        return False
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            handle = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, 0o600)
        except OSError:  # a file system that does not know them
            return False
        with os.fdopen(handle, "wb") as file:
            _fill(file, source)
            with suppress(FileExistsError):  # another writer of the same content was first
                # the folder makes Python call linkat, which follows the link in /proc
                os.link(f"/proc/self/fd/{handle}", path.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=True)
        return True
    finally:
        os.close(folder)


def _put_renamed(path: Path, source: Path | bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=".new-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            _fill(file, source)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _fill(file: BinaryIO, source: Path | bytes) -> None:
    if isinstance(source, bytes):
        file.write(source)
    else:
        with source.open("rb") as origin:
            shutil.copyfileobj(origin, file, 1 << 20)
    file.flush()
    os.fsync(file.fileno())
