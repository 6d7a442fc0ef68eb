"""Settings are declared once, parsed strictly and documented by their own meaning."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from docmemo_site.settings import addresses, env
from docmemo_site.settings.env import BY_NAME, REPOSITORY, SETTINGS, Setting

OUTSIDE = {
    "DATABASE_URL": "postgresql://docmemo_writer:w@db.example:5433/docs?sslmode=verify-full",
    "DATABASE_READER_URL": "postgresql://docmemo_reader:r@db.example/docs",
    "CELERY_BROKER_URL": "redis://broker.example:6379/1",
    "KAFKA_BOOTSTRAP_SERVERS": "k1.example:9092, k2.example:9092",
    "SECRET_KEY": "x" * 50,
}
SHOW = (
    "import json; from docmemo_site.settings import base as b;"
    "print(json.dumps([b.DATABASES, b.CELERY_BROKER_URL, b.KAFKA_BOOTSTRAP_SERVERS, b.KAFKA_SECURITY,"
    " sorted(b.EMBEDDED_SERVICES), b.SECRET_KEY]))"
)


def load(tmp_path: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """Load the product's settings in a fresh process whose environment has only `given`."""
    clean = {key: value for key, value in os.environ.items() if key not in BY_NAME}
    return subprocess.run(
        [sys.executable, "-c", SHOW],
        env={**clean, "DOCMEMO_HOME": str(tmp_path / "home"), **given},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )


def test_each_setting_is_declared_once_and_says_what_it_means() -> None:
    assert len(BY_NAME) == len(SETTINGS)
    for setting in SETTINGS:
        assert setting.meaning.endswith(".")
        assert len(setting.meaning) > 15


def test_no_other_file_reads_the_environment() -> None:
    reads = re.compile(r"os\.environ|os\.getenv|getenv\(")
    allowed = {
        "docmemo_site/settings/env.py",
        # Django's entrances name the settings module; nothing is read.
        *("manage.py", "docmemo_site/wsgi.py", "docmemo_site/asgi.py", "workers/app.py"),
        # Copies a few names into the environment of a parser's process; no setting is read.
        "ingestion/seams/sandbox/__init__.py",
    }
    readers = set()
    for top in ("docmemo_site", "ingestion", "qa", "workers"):
        for path in (REPOSITORY / top).rglob("*.py"):
            if reads.search(path.read_text()):
                readers.add(path.relative_to(REPOSITORY).as_posix())
    assert readers - allowed == set()


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("DEBUG", "maybe"),
        ("DOCMEMO_READER", "oracle"),
        ("DOCMEMO_HOME", "relative/path"),
        ("KAFKA_SECURITY_PROTOCOL", "plaintext"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_by_name(name: str, raw: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=name):
        env.read(name, {name: raw})


def test_numbers_are_whole_and_not_negative() -> None:
    setting = Setting("SOME_NUMBER", "number", 1, "A number of the test.")
    assert setting.parse(" 12 ") == 12
    for raw in ("-1", "1.5", "١", "1e3", "0x10"):
        with pytest.raises(ImproperlyConfigured, match="SOME_NUMBER"):
            setting.parse(raw)


def test_unset_and_blank_give_the_default() -> None:
    for setting in SETTINGS:
        assert env.read(setting.name, {}) == setting.default
        assert env.read(setting.name, {setting.name: "  "}) == setting.default


def test_outside_services_are_used_and_nothing_is_embedded(tmp_path: Path) -> None:
    shown = load(tmp_path, **OUTSIDE)
    assert shown.returncode == 0, shown.stderr
    databases, broker, kafka, security, embedded, _key = json.loads(shown.stdout)
    assert databases["default"]["HOST"] == "db.example"
    assert databases["default"]["PORT"] == "5433"
    assert databases["default"]["OPTIONS"]["sslmode"] == "verify-full"
    assert "default_transaction_read_only=on" in databases["evidence"]["OPTIONS"]["options"]
    assert databases["migrator"]["ENGINE"].endswith("dummy")
    assert broker == OUTSIDE["CELERY_BROKER_URL"]
    assert kafka == ["k1.example:9092", "k2.example:9092"]
    assert security == {"security_protocol": "PLAINTEXT"}
    assert embedded == []
    assert not (tmp_path / "home").exists(), "nothing is written where nothing is embedded"


@pytest.mark.parametrize("missing", ["DATABASE_READER_URL", "SECRET_KEY"])
def test_outside_database_needs_its_reader_and_a_key(tmp_path: Path, missing: str) -> None:
    shown = load(tmp_path, **{key: value for key, value in OUTSIDE.items() if key != missing})
    assert shown.returncode != 0
    assert f"{missing} is required" in shown.stderr


def test_the_embedded_key_is_made_once_and_kept(tmp_path: Path) -> None:
    first, second = load(tmp_path), load(tmp_path)
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout) == json.loads(second.stdout)
    key_file = tmp_path / "home" / "run" / "secret_key"
    assert json.loads(first.stdout)[5] == key_file.read_text()
    assert len(key_file.read_text()) > 50
    assert key_file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "url", ["mysql://a:b@c/d", "postgresql://c:notaport/d", "postgresql:///d", "postgresql://host", "nonsense"]
)
def test_a_database_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL"):
        addresses.database("default", "DATABASE_URL", url)


def test_passwords_with_signs_survive() -> None:
    found = addresses.database("default", "DATABASE_URL", "postgresql://u:p%40ss%2Fw%3Ard@h/d")
    assert found["PASSWORD"] == "p@ss/w:rd"


def test_secrets_of_sources_have_names_of_the_operators_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMEMO_SOURCE_SECRET_ARCHIVE_KEY", "value")
    monkeypatch.setenv("DOCMEMO_SOURCE_SECRET_EMPTY", "")
    monkeypatch.setenv("DOCMEMO_SUORCE_SECRET_KEY", "misspelt")
    found = env.source_secrets()
    assert found["DOCMEMO_SOURCE_SECRET_ARCHIVE_KEY"] == "value" and "DOCMEMO_SOURCE_SECRET_EMPTY" not in found
    assert "DOCMEMO_SUORCE_SECRET_KEY" in env.unknown_names() and "DOCMEMO_SOURCE_SECRET_ARCHIVE_KEY" not in env.unknown_names()
