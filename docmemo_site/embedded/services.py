"""The three services together: start them, move a taken port, stop them."""

from __future__ import annotations

from collections.abc import Collection

from docmemo_site.embedded import kafka, postgres, process, valkey
from docmemo_site.embedded.errors import StartFailed
from docmemo_site.embedded.home import Home
from docmemo_site.embedded.state import Services, is_free, load_or_create, move_port

# In this order they start; they stop in the opposite one.
NAMES = (postgres.NAME, valkey.NAME, kafka.NAME)


# A process is gone a moment before the kernel has closed its sockets: its own port is not yet a stranger's.
PORT_SECONDS = 3.0


def running(home: Home, services: Services, name: str) -> process.ProcessRecord | None:
    """The process of the service `name`, if it runs."""
    if name == postgres.NAME:
        return postgres.running(home)
    if name == valkey.NAME:
        return valkey.running(home, services)
    return kafka.running(home)


def start(home: Home, wanted: Collection[str] = NAMES, *, move: bool = True) -> Services:
    """Start those of `wanted` that do not run; returns the addresses, which may have moved.

    A port that a stranger holds is given up for a new one before the service starts, unless `move` is
    False; the start then fails.
    """
    services = load_or_create(home)
    home.prepare()
    for name in NAMES:
        if name not in wanted:
            continue
        if running(home, services, name) is None and not _comes_free(services.port(name)):
            if not move:
                raise StartFailed(f"Port {services.port(name)} of {name} is taken by another program.")
            services = move_port(home, name)
        if name == postgres.NAME:
            postgres.start(home, services)
        elif name == valkey.NAME:
            valkey.start(home, services)
        else:
            kafka.start(home, services)
    return services


def _comes_free(port: int) -> bool:
    return process.wait_until(lambda: is_free(port), seconds=PORT_SECONDS)


def stop(home: Home) -> bool:
    """Stop all three; True when none is left."""
    services = load_or_create(home)
    ended = [kafka.stop(home), valkey.stop(home, services), postgres.stop(home)]
    return all(ended)
