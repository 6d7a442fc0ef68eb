"""Room on the disks: looked at before anything large is written, and recognised when a write finds none."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from ingestion.domain.errors import IngestionError, failure

# A full disk, a full quota, the largest file that the process may write.
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# PostgreSQL's code for a disk that is full on its side.
DATABASE_DISK_FULL = "53100"


@dataclass(frozen=True, slots=True)
class Disk:
    """A folder that is written to, what it holds, and the bytes that are free there."""

    holds: str
    folder: Path
    free: int


def disks() -> Iterator[Disk]:
    """Every place that this process writes to, with its free bytes; the database of one's own is its server's business."""
    places = {**settings.PIPELINE["DISKS"], "temporary files": Path(tempfile.gettempdir())}
    for holds, folder in places.items():
        there = next((one for one in (folder, *folder.parents) if one.exists()), Path("/"))
        yield Disk(holds, folder, shutil.disk_usage(there).free)


def room_assert(needed: int = 0) -> None:
    """Raise the transient failure `disk_full` where a disk would be left with less than is to be kept free, after `needed` more bytes."""
    least = settings.PIPELINE["MIN_FREE_BYTES"]
    for disk in disks():
        if disk.free - needed < least:
            raise failure(
                "disk_full",
                f"The disk that holds {disk.holds} has only {_size(disk.free)} free; {_size(least)} have to stay free",
            )


def no_room(error: BaseException) -> IngestionError | None:
    """The transient failure for a write that found no room, on our disks or on the database's; None for every other error."""
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return failure("disk_full", "A file could not be written to its end; nothing half was kept")
    if getattr(error.__cause__, "sqlstate", None) == DATABASE_DISK_FULL:
        return failure("disk_full", "The disk of the database is full")
    return None


def _size(count: int) -> str:
    return f"{max(count, 0) / 1024**2:,.0f} MiB"
