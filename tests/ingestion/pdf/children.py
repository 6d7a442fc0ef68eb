"""What the sandbox is asked to run in its tests: well-behaved, raising, greedy, slow and dying functions."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ingestion.domain.errors import failure


def count(to: int) -> Iterator[int]:
    yield from range(to)


def surroundings() -> Iterator[dict[str, Any]]:
    Path("left-behind").write_text("x")
    descriptors = Path("/proc/self/fd")
    yield {
        "folder": os.getcwd(),
        "environment": sorted(os.environ),
        "group": os.getpgrp() == os.getpid(),
        "descriptors": len(list(descriptors.iterdir())) if descriptors.exists() else None,
        "modules": sorted(name for name in sys.modules if name in ("django.db", "celery")),
    }


def raises(code: str) -> Iterator[int]:
    yield 1
    raise failure(code, "a fact")


def breaks() -> Iterator[int]:
    yield 1
    raise ZeroDivisionError


def reaches(port: int) -> Iterator[str]:
    """What a connection to the port of this machine comes to, tried by this process and by one that it starts."""
    attempt = f"import socket; socket.create_connection(('127.0.0.1', {port})).close()"
    try:
        exec(attempt)
        yield "connected"
    except OSError as error:
        yield type(error).__name__
    done = subprocess.run([sys.executable, "-c", attempt], capture_output=True, text=True, check=False)
    yield "connected" if done.returncode == 0 else done.stderr.strip().splitlines()[-1].split(":")[0]


def looks_into(pid: int) -> Iterator[str]:
    """What reading another process's memory comes to."""
    libc = ctypes.CDLL(None, use_errno=True)
    yield "read" if libc.process_vm_readv(pid, None, 0, None, 0, 0) == 0 else errno.errorcode[ctypes.get_errno()]


def greedy() -> Iterator[int]:
    yield 1
    held = []
    while True:
        held.append(bytearray(64 * 1024 * 1024))


def sleeps(after: int) -> Iterator[int]:
    yield from range(after)
    time.sleep(3600)


def dies(signum: int) -> Iterator[int]:
    yield 1
    os.kill(os.getpid(), signum)
    signal.pause()


def writes(size: int) -> Iterator[int]:
    yield 1
    Path("big").write_bytes(b"0" * size)


def grandchild(pid_file: str) -> Iterator[int]:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    Path(pid_file).write_text(str(child.pid))
    yield child.pid
    time.sleep(3600)


def tell_and_sleep(pid_file: str) -> Iterator[int]:
    Path(pid_file).write_text(str(os.getpid()))
    yield 1
    time.sleep(3600)


def pages(pages: list[int], deadly: list[int], once: str = "") -> Iterator[dict[str, Any]]:
    """Pages of which some take the process down; with `once`, only the first time (a file that remembers)."""
    yield {}
    for number in pages:
        if number in deadly and not (once and Path(once).exists()):
            if once:
                Path(once).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield {"number": number}


def never_opens(pages: list[int]) -> Iterator[dict[str, Any]]:
    os.kill(os.getpid(), signal.SIGKILL)
    yield {"number": pages[0]}
