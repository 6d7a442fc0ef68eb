"""The one place that reads the environment: every setting, its type, its default and its meaning.

A setting is declared once in `declared.py` and read with `read(name)`. A value that does not fit its type
stops the start with a sentence that names the setting; nothing is guessed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from docmemo_site.settings.declared import SETTINGS
from docmemo_site.settings.kinds import REPOSITORY  # noqa: F401  (of the repository this code lies in; for whoever reads settings)

# Secrets of sources (a bucket's keys) have names of the operator's choice that begin with this.
SOURCE_SECRET_PREFIX = "DOCMEMO_SOURCE_SECRET_"

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
    """The value of a setting that is a number."""
    value = read(name)
    assert isinstance(value, int)
    return value


def amounts(name: str) -> dict[str, int]:
    """The value of a setting that gives numbers by name."""
    value = read(name)
    assert isinstance(value, dict)
    return dict(value)


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
    ours = (n for n in os.environ if n.startswith("DOCMEMO_") and not n.startswith(SOURCE_SECRET_PREFIX))
    return sorted(n for n in ours if n not in BY_NAME and n not in internal)


def source_secrets() -> dict[str, str]:
    """The secrets of sources by the names of their variables."""
    return {name: value for name, value in os.environ.items() if name.startswith(SOURCE_SECRET_PREFIX) and value}


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


def supervised() -> bool:
    """Whether this process was started by the supervisor of the embedded default."""
    return bool(os.environ.get("DOCMEMO_SUPERVISED", ""))


def first_of_its_test_worker() -> bool:
    """Whether this process is a worker of a test run that is spread over several; its children are not."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    first = worker != os.environ.get("PYTEST_HOME_OF", "")
    os.environ["PYTEST_HOME_OF"] = worker
    return first


def already_restarted() -> bool:
    """Whether this process has started itself anew once because addresses moved."""
    return os.environ.get("DOCMEMO_RESTARTED") == "1"
