"""Where the embedded default keeps its things, and a lock file that lives there."""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from docmemo_site.embedded.errors import Busy


@dataclass(frozen=True)
class Home:
    """The folder of one installation and the paths inside it."""

    root: Path

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def log(self) -> Path:
        return self.root / "log"

    @property
    def services_file(self) -> Path:
        """Ports and passwords of the embedded services."""
        return self.run / "services.json"

    @property
    def status_file(self) -> Path:
        """What the supervisor last said about every process."""
        return self.run / "status.json"

    @property
    def supervisor_lock(self) -> Path:
        """Held by the supervisor for as long as it lives."""
        return self.run / "supervisor.lock"

    @property
    def control_lock(self) -> Path:
        """Held by a command while it starts or stops something."""
        return self.run / "control.lock"

    @property
    def outside(self) -> Path:
        """A place that every user can reach, for a home that an unprivileged user cannot enter."""
        mark = hashlib.sha256(str(self.root).encode()).hexdigest()[:12]
        return Path("/var/lib") / f"docmemo-{mark}"

    def log_file(self, name: str) -> Path:
        return self.log / f"{name}.log"

    def record_file(self, name: str) -> Path:
        return self.run / f"{name}.pid.json"

    def prepare(self) -> None:
        """Make the folders. Secrets lie in `run`, which only the owner may enter."""
        self.root.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0 and self.root.stat().st_uid == 0:
            # PostgreSQL refuses to run as root, so an unprivileged user must be able to pass through.
            self.root.chmod(self.root.stat().st_mode & 0o777 | 0o711)
        self.run.mkdir(mode=0o700, exist_ok=True)
        self.log.mkdir(mode=0o700, exist_ok=True)


def write_private(path: Path, text: str) -> None:
    """Replace `path` in one step with `text`, readable by its owner only."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    draft.replace(path)


@contextmanager
def locked(path: Path, *, seconds: float = 30.0) -> Iterator[None]:
    """Hold the lock file `path`; raises Busy when it is not to be had within `seconds`."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + seconds
        while not _try_lock(descriptor):
            if time.monotonic() > deadline:
                raise Busy(f"{path} has been held by another command for {seconds:.0f} seconds.")
            time.sleep(0.05)
        yield
    finally:
        os.close(descriptor)


def try_hold(path: Path) -> int | None:
    """Take the lock for the rest of this process's life; None when another process has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    if _try_lock(descriptor):
        return descriptor
    os.close(descriptor)
    return None


def is_held(path: Path) -> bool:
    """Whether some process holds the lock. A dead process never does."""
    if not path.exists():
        return False
    descriptor = os.open(path, os.O_RDWR)
    try:
        return not _try_lock(descriptor)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
