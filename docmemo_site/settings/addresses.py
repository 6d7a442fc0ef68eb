"""Addresses and secrets: what is configured, else what the embedded default chose."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from docmemo_site.settings import env

CONNECTION_SECONDS = 5
# Reads the passwords from the home at each new connection, so that they can be changed while processes run.
EMBEDDED_ENGINE = "docmemo_site.embedded.postgresql"
# Everything read through `evidence` sees one snapshot and can change nothing.
EVIDENCE_OPTIONS = r"-c default_transaction_isolation=repeatable\ read -c default_transaction_read_only=on"


def database(alias: str, name: str, url: str) -> dict[str, object]:
    """Django's settings of one connection from a `postgresql://` address; `name` is its setting."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is no valid address: {error}.") from None
    database_name = unquote(parts.path.lstrip("/"))
    if parts.scheme not in {"postgres", "postgresql"} or not parts.hostname or not database_name:
        raise ImproperlyConfigured(f"{name} must look like postgresql://user:password@host:port/database.")
    options: dict[str, object] = {
        "connect_timeout": CONNECTION_SECONDS,
        "application_name": f"docmemo-{alias}",
        **dict(parse_qsl(parts.query)),
    }
    if alias == "evidence":
        options["options"] = f"{options.get('options', '')} {EVIDENCE_OPTIONS}".strip()
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": database_name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname,
        "PORT": str(port or 5432),
        "OPTIONS": options,
        "CONN_MAX_AGE": 30,
        "CONN_HEALTH_CHECKS": True,
    }


def external_databases() -> dict[str, dict[str, object]]:
    """The three connections from DATABASE_URL and its fellows."""
    if not env.is_set("DATABASE_READER_URL"):
        raise ImproperlyConfigured("DATABASE_READER_URL is required with DATABASE_URL (see ops/roles.sql).")
    found = {
        "default": database("default", "DATABASE_URL", env.text("DATABASE_URL")),
        "evidence": database("evidence", "DATABASE_READER_URL", env.text("DATABASE_READER_URL")),
    }
    if env.is_set("DATABASE_MIGRATOR_URL"):
        found["migrator"] = database("migrator", "DATABASE_MIGRATOR_URL", env.text("DATABASE_MIGRATOR_URL"))
    else:
        # A server that only serves should not hold the migrator's password.
        found["migrator"] = {"ENGINE": "django.db.backends.dummy", "NAME": ""}
    return found


def secret_key(home: Path) -> str:
    """SECRET_KEY, or for the embedded default one that is made once and kept in the home."""
    given = env.text("SECRET_KEY")
    if given:
        return given
    if env.is_set("DATABASE_URL"):
        raise ImproperlyConfigured("SECRET_KEY is required with DATABASE_URL.")
    path = home / "run" / "secret_key"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".secret_key.{os.getpid()}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
        try:
            # A link never replaces: of several processes that start at once, the first one's key stands.
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text()


def secret_key_fallbacks(home: Path) -> list[str]:
    """Keys that once signed and still verify: those of SECRET_KEY_FALLBACKS, else those that the embedded default has had."""
    if env.is_set("SECRET_KEY_FALLBACKS") or env.text("SECRET_KEY"):
        return env.words("SECRET_KEY_FALLBACKS")
    path = home / "run" / "secret_key_fallbacks"
    return path.read_text().split() if path.exists() else []


def kafka_security() -> dict[str, str]:
    """How to sign in to Kafka, in the names of kafka-python; only what is set."""
    names = {
        "sasl_mechanism": "KAFKA_SASL_MECHANISM",
        "sasl_plain_username": "KAFKA_SASL_USERNAME",
        "sasl_plain_password": "KAFKA_SASL_PASSWORD",
        "ssl_cafile": "KAFKA_SSL_CAFILE",
        "ssl_certfile": "KAFKA_SSL_CERTFILE",
        "ssl_keyfile": "KAFKA_SSL_KEYFILE",
    }
    given = {option: env.text(name) for option, name in names.items() if env.is_set(name)}
    return {"security_protocol": env.text("KAFKA_SECURITY_PROTOCOL"), **given}
