"""System checks: wrong configuration stops `manage.py check`, not the job at three in the morning.

docmemo.E001  a seam is missing or its adapter cannot be imported
docmemo.E002  the reader needs a model server and none is configured
docmemo.E003  DEBUG with hosts other than this machine
docmemo.E004  SECRET_KEY is too short to sign anything
docmemo.E005  two database aliases use the same role
docmemo.E006  half of a Kafka sign-in
docmemo.W001  a name in the environment that nothing reads
docmemo.W002  the site answers to public hosts without HTTPS
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.utils.module_loading import import_string

from docmemo_site.settings import env

ALIASES = (
    "blobs",
    "renderer",
    "parser",
    "page_embedder",
    "language_model",
    "event_bus",
    "task_queue",
    "reader",
    "seal",
)
HERE = frozenset({"127.0.0.1", "localhost", "[::1]", "testserver"})
SHORTEST_KEY = 32


@register("docmemo")
def check_seams(**_kwargs: Any) -> list[CheckMessage]:
    """Every seam names an adapter that exists."""
    return list(_wrong_seams())


def _wrong_seams() -> Iterator[CheckMessage]:
    for alias in ALIASES:
        path = settings.SEAMS.get(alias, {}).get("BACKEND")
        if path is None:
            yield Error(f"SEAMS names no adapter for {alias!r}.", id="docmemo.E001")
            continue
        try:
            import_string(path)
        except ImportError as error:
            yield Error(
                f"The adapter {path!r} of the seam {alias!r} cannot be imported: {error}.",
                hint="Correct SEAMS, or install the package that the adapter needs.",
                id="docmemo.E001",
            )
    for alias in sorted(set(settings.SEAMS) - set(ALIASES)):
        yield Error(f"SEAMS names {alias!r}, which is no seam.", id="docmemo.E001")


@register("docmemo")
def check_reader(**_kwargs: Any) -> list[CheckMessage]:
    """A reader that asks a model server has one."""
    server = settings.SEAMS.get("language_model", {}).get("OPTIONS", {})
    reads_by_server = settings.SEAMS.get("reader", {}).get("BACKEND", "").endswith(".OpenAICompatibleReader")
    if not reads_by_server or (server.get("base_url") and server.get("model")):
        return []
    return [
        Error(
            "DOCMEMO_READER is openai_compatible and no model server is configured.",
            hint="Set DOCMEMO_LANGUAGE_MODEL_URL and DOCMEMO_LANGUAGE_MODEL_NAME, or use extractive.",
            id="docmemo.E002",
        )
    ]


@register("docmemo")
def check_exposure(**_kwargs: Any) -> list[CheckMessage]:
    """What is open to others is safe to open."""
    found: list[CheckMessage] = []
    public = [host for host in settings.ALLOWED_HOSTS if host not in HERE]
    if settings.DEBUG and public:
        found.append(
            Error(
                f"DEBUG is on and the site answers to {', '.join(public)}: errors would show everything.",
                hint="Turn DEBUG off, or keep ALLOWED_HOSTS to 127.0.0.1 and localhost.",
                id="docmemo.E003",
            )
        )
    if len(settings.SECRET_KEY) < SHORTEST_KEY:
        found.append(
            Error(
                f"SECRET_KEY has fewer than {SHORTEST_KEY} characters.",
                hint="python -c 'import secrets; print(secrets.token_urlsafe(48))'",
                id="docmemo.E004",
            )
        )
    if public and not settings.HTTPS:
        found.append(
            Warning(
                "The site answers to other hosts without DOCMEMO_HTTPS: cookies could travel in the clear.",
                id="docmemo.W002",
            )
        )
    return found


@register("docmemo")
def check_roles(**_kwargs: Any) -> list[CheckMessage]:
    """Writing, reading and owning are three roles; one role for two of them would undo the guards."""
    users = {
        alias: settings.DATABASES[alias].get("USER")
        for alias in ("default", "evidence", "migrator")
        if settings.DATABASES[alias].get("USER")
    }
    if len(set(users.values())) == len(users):
        return []
    return [
        Error(
            f"Database connections share a role: {', '.join(f'{a} is {u}' for a, u in users.items())}.",
            hint="ops/roles.sql makes docmemo_writer, docmemo_reader and docmemo_migrator.",
            id="docmemo.E005",
        )
    ]


@register("docmemo")
def check_kafka(**_kwargs: Any) -> list[CheckMessage]:
    """A sign-in to Kafka is whole or absent."""
    security = settings.KAFKA_SECURITY
    signs_in = str(security.get("security_protocol", "")).startswith("SASL")
    parts = [bool(security.get(f"sasl_{name}")) for name in ("mechanism", "plain_username", "plain_password")]
    if (signs_in and all(parts)) or (not signs_in and not any(parts)):
        return []
    return [
        Error(
            "Kafka's sign-in is incomplete: KAFKA_SECURITY_PROTOCOL, KAFKA_SASL_MECHANISM, "
            "KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD belong together.",
            id="docmemo.E006",
        )
    ]


@register("docmemo")
def check_names(**_kwargs: Any) -> list[CheckMessage]:
    """A misspelt setting is told, since it would silently do nothing."""
    return [
        Warning(f"{name} is set in the environment and nothing reads it.", id="docmemo.W001")
        for name in env.unknown_names()
    ]
