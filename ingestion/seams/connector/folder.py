"""A watched folder: files below it are documents, their paths from it are the external ids.

Options: `root` (absolute), `patterns` (of file names, default `*.pdf`), `settle_seconds` (a file that changed more recently is
still being written), `max_files`, `max_depth`, `marker` (a file that has to lie in `root`; without it the folder counts as
unreachable, which tells an unmounted disk from an empty folder).

Symbolic links are never followed, neither below the root nor on the way to a file; nothing but plain files is ever opened.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, BinaryIO

from ingestion.seams.connector import (
    MAX_EXTERNAL_ID,
    Item,
    ItemChanged,
    ItemGone,
    Listing,
    Misconfigured,
    Unreachable,
    only_known,
    option,
)

KNOWN = frozenset({"root", "patterns", "settle_seconds", "max_files", "max_depth", "marker"})
NOT_DOCUMENTS = (".", "~$")  # how names of hidden and lock files begin; programs also write under such names
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # not blocking: a pipe put in a file's place holds nobody up


@dataclass(slots=True)
class _Walk:
    """What a walk has come upon."""

    items: list[Item] = field(default_factory=list)
    unready: set[str] = field(default_factory=set)
    reason: str = ""  # why the walk did not see everything
    seen: int = 0


class FolderConnector:
    """Files below a folder. A file renamed over another is a change of that document."""

    def __init__(self, options: dict[str, Any], _secrets: dict[str, str], clock: Callable[[], float] = time.time) -> None:
        only_known(options, KNOWN)
        self.root = Path(option(options, "root", str))
        if not self.root.is_absolute():
            raise Misconfigured("The option root must be an absolute path.")
        self.patterns = option(options, "patterns", patterns_of, ["*.pdf"])
        self.settle_seconds = option(options, "settle_seconds", float, 2.0)
        self.max_files = option(options, "max_files", int, 100_000)
        self.max_depth = option(options, "max_depth", int, 32)
        self.marker = option(options, "marker", str, "")
        self.clock = clock

    def listing(self) -> Listing:
        walk = _Walk()
        with self._root() as root:
            if self.marker and not _is_there(self.marker, root):
                raise Unreachable(f"{self.root} does not hold its marker {self.marker}: it may not be mounted.")
            self._walk(root, "", 0, walk)
        return Listing(tuple(sorted(walk.items, key=lambda i: i.external_id)), not walk.reason, frozenset(walk.unready), walk.reason)

    @contextmanager
    def _root(self) -> Iterator[int]:
        try:
            handle = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)  # the root itself may be a link: its owner chose it
        except OSError as error:
            raise Unreachable(f"{self.root} cannot be read: {error.strerror}.") from None
        try:
            yield handle
        finally:
            os.close(handle)

    def _walk(self, folder: int, path: str, depth: int, walk: _Walk) -> None:
        """List one folder that is held open, so that nothing put in its place meanwhile is followed."""
        try:
            with os.scandir(folder) as found:
                names = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in found)
        except OSError as error:
            walk.reason = walk.reason or f"the folder {path or '.'} cannot be read: {error.strerror}"
            return
        for name, is_folder in names:
            if name.startswith(NOT_DOCUMENTS) or not _can_be_named(name):
                continue
            place = f"{path}/{name}" if path else name
            if is_folder:
                self._step_into(folder, name, place, depth, walk)
            elif any(fnmatch(name.lower(), pattern) for pattern in self.patterns) and len(place) <= MAX_EXTERNAL_ID:
                walk.seen += 1
                if walk.seen > self.max_files:
                    walk.reason = walk.reason or f"there are more than {self.max_files} files"
                    return
                self._look(folder, name, place, walk)

    def _step_into(self, folder: int, name: str, place: str, depth: int, walk: _Walk) -> None:
        if depth >= self.max_depth:
            walk.reason = walk.reason or f"the folder {place} lies deeper than {self.max_depth} levels"
            return
        try:
            inner = os.open(name, FOLDER, dir_fd=folder)
        except FileNotFoundError:
            return  # removed since it was listed
        except OSError as error:
            walk.reason = walk.reason or f"the folder {place} cannot be read: {error.strerror}"
            return
        try:
            self._walk(inner, place, depth + 1, walk)
        finally:
            os.close(inner)

    def _look(self, folder: int, name: str, place: str, walk: _Walk) -> None:
        try:
            about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return
        except OSError as error:
            walk.reason = walk.reason or f"the file {place} cannot be looked at: {error.strerror}"
            return
        if not stat.S_ISREG(about.st_mode):
            return
        # The time of the last change of any kind: unlike that of the content, a copying program cannot set it back.
        if self.clock() - about.st_ctime < self.settle_seconds:
            walk.unready.add(place)
            return
        walk.items.append(Item(place, _fingerprint(about), about.st_size, name))

    @contextmanager
    def open(self, item: Item) -> Iterator[BinaryIO]:
        with ExitStack() as stack, self._root() as root:
            *folders, name = item.external_id.split("/")
            if any(part in ("", ".", "..") for part in (*folders, name)):
                raise ItemGone(f"{item.external_id} is no path below the folder.")
            folder = root
            try:
                for part in folders:
                    folder = os.open(part, FOLDER, dir_fd=folder)
                    stack.callback(os.close, folder)
                file = stack.enter_context(os.fdopen(os.open(name, FILE, dir_fd=folder), "rb"))
            except OSError as error:
                raise _as_of(item, error) from None
            self._check(item, os.fstat(file.fileno()))
            yield file
            self._check(item, os.fstat(file.fileno()))

    def _check(self, item: Item, about: os.stat_result) -> None:
        if not stat.S_ISREG(about.st_mode) or _fingerprint(about) != item.fingerprint:
            raise ItemChanged(f"{item.external_id} changed after it was listed.")


def patterns_of(value: Any) -> list[str]:
    """The option `patterns` as lower-case file name patterns. Raises `Misconfigured`."""
    if not isinstance(value, list) or not value or not all(isinstance(one, str) and one and "/" not in one for one in value):
        raise Misconfigured('The option patterns must be a list of file name patterns such as ["*.pdf"].')
    return [one.lower() for one in value]


def _fingerprint(about: os.stat_result) -> str:
    return f"{about.st_size}-{about.st_mtime_ns}-{about.st_ino}"


def _is_there(name: str, root: int) -> bool:
    try:
        os.stat(name, dir_fd=root, follow_symlinks=False)
    except OSError:
        return False
    return True


def _can_be_named(name: str) -> bool:
    """Whether the name is text that a database can hold; such a file would need another name anyway."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return name.isprintable()


def _as_of(item: Item, error: OSError) -> Exception:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return ItemGone(f"{item.external_id} is not there any more.")
    if error.errno == errno.ELOOP:
        return ItemChanged(f"{item.external_id} is a link now.")
    return Unreachable(f"{item.external_id} cannot be read: {error.strerror}.")
