"""Ports and passwords of the embedded services, chosen once and kept in the home.

They are written before any service runs, by whoever loads the settings first, so that the settings of
every process agree from the first moment.
"""

from __future__ import annotations

import json
import random
import secrets
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from docmemo_site.embedded.errors import EmbeddedError
from docmemo_site.embedded.home import Home, locked, write_private

# Below the range from which Linux and macOS draw the ports of outgoing connections, so that a port
# stays free while its service is down.
PORT_RANGE = range(20000, 32000)
HOST = "127.0.0.1"
DATABASE = "docmemo"


@dataclass(frozen=True)
class Services:
    """Addresses and passwords. `durable` is False in tests, which need not survive a power cut."""

    postgres_port: int
    valkey_port: int
    kafka_port: int
    bootstrap_password: str
    migrator_password: str
    writer_password: str
    reader_password: str
    valkey_password: str
    durable: bool = True

    def database_url(self, role: str, database: str = DATABASE) -> str:
        """The address of `database` as `role`: migrator, writer, reader or bootstrap."""
        password = getattr(self, f"{role}_password")
        return f"postgresql://docmemo_{role}:{password}@{HOST}:{self.postgres_port}/{database}"

    @property
    def broker_url(self) -> str:
        return f"redis://:{self.valkey_password}@{HOST}:{self.valkey_port}/0"

    @property
    def kafka_address(self) -> str:
        return f"{HOST}:{self.kafka_port}"

    def port(self, service: str) -> int:
        return getattr(self, f"{service}_port")


def load(home: Home) -> Services | None:
    """The services of `home`, or None where none were chosen yet."""
    if not home.services_file.exists():
        return None
    try:
        return Services(**json.loads(home.services_file.read_text()))
    except (ValueError, TypeError) as error:
        raise EmbeddedError(f"{home.services_file} is damaged ({error}); bring it back from a copy.") from None


def load_or_create(home: Home, *, durable: bool = True) -> Services:
    """The services of `home`; the first caller chooses them."""
    known = load(home)
    if known is not None:
        return known
    home.prepare()
    with locked(home.run / "services.lock"):
        known = load(home)
        if known is not None:
            return known
        ports = free_ports(3)
        chosen = Services(*ports, *(secrets.token_urlsafe(24) for _ in range(5)), durable=durable)
        _store(home, chosen)
        return chosen


def move_port(home: Home, service: str) -> Services:
    """Give `service` a new free port and keep it."""
    with locked(home.run / "services.lock"):
        known = load(home)
        assert known is not None, "a port can only move after it was chosen"
        taken = {known.postgres_port, known.valkey_port, known.kafka_port}
        port = next(p for p in free_ports(4) if p not in taken)
        moved = replace(known, **{f"{service}_port": port})
        _store(home, moved)
        return moved


def change_passwords(home: Home, passwords: Mapping[str, str]) -> Services:
    """Keep new passwords of database roles, by role; processes use them from their next connection on."""
    with locked(home.run / "services.lock"):
        known = load(home)
        assert known is not None, "a password can only change after it was chosen"
        changed = replace(known, **{f"{role}_password": password for role, password in passwords.items()})
        _store(home, changed)
        return changed


def free_ports(count: int) -> list[int]:
    """`count` different ports of this machine on which nobody listens."""
    draw = random.SystemRandom()
    found: list[int] = []
    while len(found) < count:
        port = draw.choice(PORT_RANGE)
        if port not in found and is_free(port):
            found.append(port)
    return found


def is_free(port: int) -> bool:
    """Whether a listener could take `port` on this machine's own address."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: connections of a server that has just stopped do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _store(home: Home, services: Services) -> None:
    write_private(home.services_file, json.dumps(asdict(services), indent=1) + "\n")
