"""The one place that reads the environment: every setting, its type, its default and its meaning.

A setting is declared once in `SETTINGS` and read with `read(name)`. A value that does not fit its type
stops the start with a sentence that names the setting; nothing is guessed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

REPOSITORY = Path(__file__).resolve().parents[2]

TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True)
class Setting:
    """One setting of the environment. `kind` is text, flag, number, words, folder or choice."""

    name: str
    kind: str
    default: object
    meaning: str
    secret: bool = False
    choices: tuple[str, ...] = ()

    def parse(self, raw: str) -> object:
        """The typed value of `raw`; raises ImproperlyConfigured with the setting's name."""
        return _PARSERS[self.kind](self, raw.strip())


def _text(_setting: Setting, raw: str) -> str:
    return raw


def _flag(setting: Setting, raw: str) -> bool:
    word = raw.lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise ImproperlyConfigured(f"{setting.name} must be true or false, not {raw!r}.")


def _number(setting: Setting, raw: str) -> int:
    if not raw.isascii() or not raw.isdigit():
        raise ImproperlyConfigured(f"{setting.name} must be a whole number of zero or more, not {raw!r}.")
    return int(raw)


def _words(_setting: Setting, raw: str) -> list[str]:
    return [word.strip() for word in raw.split(",") if word.strip()]


def _folder(setting: Setting, raw: str) -> Path:
    path = Path(raw).expanduser()
    if not path.is_absolute():
        raise ImproperlyConfigured(f"{setting.name} must be an absolute path, not {raw!r}.")
    return path


def _choice(setting: Setting, raw: str) -> str:
    if raw not in setting.choices:
        allowed = ", ".join(setting.choices)
        raise ImproperlyConfigured(f"{setting.name} must be one of {allowed}, not {raw!r}.")
    return raw


_PARSERS = {
    "text": _text,
    "flag": _flag,
    "number": _number,
    "words": _words,
    "folder": _folder,
    "choice": _choice,
}

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "DOCMEMO_HOME",
        "folder",
        REPOSITORY / ".docmemo",
        "Folder of everything kept on disk: stored files, logs, audit heads, the embedded services.",
    ),
    Setting("DEBUG", "flag", False, "Django's debug pages; never with hosts other than this machine."),
    Setting(
        "SECRET_KEY",
        "text",
        "",
        "Signs sessions; made and kept in the home for the embedded default, required with DATABASE_URL.",
        secret=True,
    ),
    Setting("ALLOWED_HOSTS", "words", ["127.0.0.1", "localhost"], "Host names the site answers to."),
    Setting(
        "CSRF_TRUSTED_ORIGINS",
        "words",
        [],
        "Origins (scheme and host) that may post forms, needed behind a proxy that ends TLS.",
    ),
    Setting(
        "DOCMEMO_HTTPS",
        "flag",
        False,
        "The site is reached over HTTPS: cookies are then sent over HTTPS only and HSTS is on.",
    ),
    Setting(
        "DATABASE_URL",
        "text",
        "",
        "PostgreSQL as the role docmemo_writer; empty means the embedded PostgreSQL.",
        secret=True,
    ),
    Setting(
        "DATABASE_READER_URL",
        "text",
        "",
        "PostgreSQL as the role docmemo_reader; required with DATABASE_URL.",
        secret=True,
    ),
    Setting(
        "DATABASE_MIGRATOR_URL",
        "text",
        "",
        "PostgreSQL as the role docmemo_migrator; needed only where migrations are run.",
        secret=True,
    ),
    Setting(
        "CELERY_BROKER_URL",
        "text",
        "",
        "Valkey, Redis or RabbitMQ for Celery; empty means the embedded Valkey.",
        secret=True,
    ),
    Setting(
        "KAFKA_BOOTSTRAP_SERVERS",
        "words",
        [],
        "Kafka as host:port, several by commas; empty means the embedded Kafka-protocol broker.",
    ),
    Setting(
        "KAFKA_SECURITY_PROTOCOL",
        "choice",
        "PLAINTEXT",
        "How to speak to Kafka.",
        choices=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    ),
    Setting(
        "KAFKA_SASL_MECHANISM",
        "choice",
        "",
        "How to sign in to Kafka; empty means not at all.",
        choices=("", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
    ),
    Setting("KAFKA_SASL_USERNAME", "text", "", "User name for Kafka's SASL."),
    Setting("KAFKA_SASL_PASSWORD", "text", "", "Password for Kafka's SASL.", secret=True),
    Setting("KAFKA_SSL_CAFILE", "text", "", "File of certificate authorities for Kafka's TLS."),
    Setting("KAFKA_SSL_CERTFILE", "text", "", "Client certificate file for Kafka's TLS."),
    Setting("KAFKA_SSL_KEYFILE", "text", "", "Key file of the client certificate for Kafka's TLS."),
    Setting(
        "DOCMEMO_READER",
        "choice",
        "extractive",
        "Who reads pages: extractive (verbatim spans, on a CPU) or openai_compatible (a model server).",
        choices=("extractive", "openai_compatible"),
    ),
    Setting(
        "DOCMEMO_LANGUAGE_MODEL_URL",
        "text",
        "",
        "Base URL of a server with the OpenAI-compatible API, such as http://127.0.0.1:8001/v1.",
    ),
    Setting("DOCMEMO_LANGUAGE_MODEL_NAME", "text", "", "Name under which that server serves the model."),
    Setting("DOCMEMO_LANGUAGE_MODEL_KEY", "text", "", "Key for that server, where it asks for one.", secret=True),
    Setting(
        "DOCMEMO_ONNX_MODEL_DIR",
        "folder",
        None,
        "Folder with model.onnx and tokenizer.json of your own text embedding model; "
        "empty means the shipped MiniLM, which reads English.",
    ),
    Setting(
        "DOCMEMO_DIRECTORY_MAX_AGE_SECONDS",
        "number",
        24 * 60 * 60,
        "How long memberships from a directory or an OpenID provider count after they were last read; past it they count as absent.",
    ),
    Setting(
        "DOCMEMO_LOG_LEVEL",
        "choice",
        "INFO",
        "How much is logged.",
        choices=("DEBUG", "INFO", "WARNING", "ERROR"),
    ),
    Setting("DOCMEMO_TEST_HOME", "folder", None, "Tests only: a home to use instead of a temporary one."),
    Setting("DOCMEMO_NO_SKIPS", "flag", False, "Tests only: the run fails when any test was skipped."),
    Setting(
        "KAFKA_HOME",
        "folder",
        None,
        "Tests only: an Apache Kafka to test against beside the embedded broker.",
    ),
)

BY_NAME = {setting.name: setting for setting in SETTINGS}


def read(name: str, environment: Mapping[str, str] | None = None) -> object:
    """The typed value of the declared setting `name`; unset or blank gives its default."""
    setting = BY_NAME[name]
    raw = (os.environ if environment is None else environment).get(name, "")
    return setting.default if not raw.strip() else setting.parse(raw)


def text(name: str) -> str:
    """The value of a text or choice setting."""
    value = read(name)
    assert isinstance(value, str)
    return value


def flag(name: str) -> bool:
    """The value of a flag setting."""
    value = read(name)
    assert isinstance(value, bool)
    return value


def words(name: str) -> list[str]:
    """The value of a setting that lists words."""
    value = read(name)
    assert isinstance(value, list)
    return list(value)


def number(name: str) -> int:
    """The value of a number setting."""
    value = read(name)
    assert isinstance(value, int)
    return value


def folder(name: str) -> Path | None:
    """The value of a folder setting, or None where it is unset and has no default."""
    value = read(name)
    assert value is None or isinstance(value, Path)
    return value


def home() -> Path:
    """The folder of everything that is kept on disk."""
    path = folder("DOCMEMO_HOME")
    assert path is not None
    return path


def is_set(name: str) -> bool:
    """Whether the environment gives the declared setting a value."""
    return bool(os.environ.get(BY_NAME[name].name, "").strip())


def unknown_names() -> list[str]:
    """Names in the environment that look like ours and are declared nowhere: spelling mistakes."""
    internal = {"DOCMEMO_SUPERVISED", "DOCMEMO_RESTARTED"}
    return sorted(n for n in os.environ if n.startswith("DOCMEMO_") and n not in BY_NAME and n not in internal)


def embedded_services() -> frozenset[str]:
    """Which of postgres, valkey and kafka the embedded default has to provide."""
    outside = {"postgres": "DATABASE_URL", "valkey": "CELERY_BROKER_URL", "kafka": "KAFKA_BOOTSTRAP_SERVERS"}
    return frozenset(service for service, name in outside.items() if not is_set(name))


def child_environment(**changes: str) -> dict[str, str]:
    """A copy of the environment for a child process, with `changes` applied."""
    return {**os.environ, **changes}


def share_with_children(name: str, value: str) -> None:
    """Put a value into this process's environment, so that processes started from it agree."""
    os.environ[name] = value


def already_restarted() -> bool:
    """Whether this process has started itself anew once because addresses moved."""
    return os.environ.get("DOCMEMO_RESTARTED") == "1"
