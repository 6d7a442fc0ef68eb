"""New secrets of the embedded default: passwords of the database roles, and the key that signs sessions."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

import psycopg
from psycopg import sql

from docmemo_site.embedded.errors import EmbeddedError
from docmemo_site.embedded.home import Home, locked, write_private
from docmemo_site.embedded.state import DATABASE, change_passwords, load

ROLES = ("migrator", "writer", "reader")
KEPT_KEYS = 3


def database_passwords_rotate(home: Home, *, end_sessions: bool = False, passwords: Mapping[str, str] | None = None) -> int:
    """Give the three roles new passwords, drawn unless given by role; returns how many sessions of the old ones were ended.

    The file is written while the change waits to be committed. If this process dies in between, the passwords of the file are not the
    database's: run it again, or start the services anew, which sets the passwords of the file.
    """
    known = load(home)
    if known is None:
        raise EmbeddedError("There is no embedded PostgreSQL in this home.")
    new = dict(passwords or {role: secrets.token_urlsafe(24) for role in ROLES})
    try:
        with psycopg.connect(known.database_url("bootstrap", DATABASE), connect_timeout=5) as connection:
            for role, password in new.items():
                name = f"docmemo_{role}"
                # Only its SCRAM verifier goes to the server: no log and no statistics can hold the password.
                verifier = connection.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256").decode()
                connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(name), sql.Literal(verifier)))
            change_passwords(home, new)
        return _sessions_end(home, list(new)) if end_sessions else 0
    except psycopg.OperationalError as error:
        raise EmbeddedError(f"The embedded PostgreSQL does not answer: {error}") from error


def _sessions_end(home: Home, roles: Sequence[str]) -> int:
    known = load(home)
    assert known is not None
    with psycopg.connect(known.database_url("bootstrap", DATABASE), connect_timeout=5) as connection:
        ended = connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = ANY(%s)", [[f"docmemo_{role}" for role in roles]]
        ).fetchall()
    return len(ended)


def secret_key_rotate(home: Home, *, drop_former: bool = False) -> int:
    """A new key signs from now on; former ones still verify, unless they are dropped. Returns how many still do."""
    key, former = home.run / "secret_key", home.run / "secret_key_fallbacks"
    if not key.exists():
        raise EmbeddedError("There is no secret key in this home yet.")
    with locked(home.run / "secret_key.lock"):
        kept = [] if drop_former else [key.read_text().strip(), *(former.read_text().split() if former.exists() else [])][:KEPT_KEYS]
        # The former ones first: a process that starts in between accepts the present key twice, never not at all.
        write_private(former, "".join(f"{one}\n" for one in kept))
        write_private(key, secrets.token_urlsafe(48))
    return len(kept)
