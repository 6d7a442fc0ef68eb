"""The doctor tells what is broken and how to mend it."""

from __future__ import annotations

from io import StringIO

import pytest
from django.conf import LazySettings
from django.core.management import call_command

from docmemo_site.doctor import Finding, examine
from docmemo_site.settings.env import SETTINGS


def by_name(found: list[Finding]) -> dict[str, Finding]:
    return {one.name: one for one in found}


@pytest.fixture
def findings(committed_db: None, celery_broker: str, kafka_broker: str, settings: LazySettings) -> dict[str, Finding]:
    settings.CELERY_BROKER_URL = celery_broker
    settings.KAFKA_BOOTSTRAP_SERVERS = [kafka_broker]
    server = {**settings.SEAMS["language_model"]}
    # Nothing listens on port 1.
    server["OPTIONS"] = {"base_url": "http://127.0.0.1:1/v1", "model": "m", "api_key": ""}
    settings.SEAMS = {**settings.SEAMS, "language_model": server}
    return by_name(examine())


def test_what_is_well_and_what_is_not(findings: dict[str, Finding]) -> None:
    well = (
        *("platform", "database default", "database evidence", "database migrator"),
        *("pgvector", "migrations", "broker", "kafka", "stored files", "free disk", "page embedder", "OCR"),
    )
    assert [name for name in well if findings[name].state != "ok"] == []
    assert "docmemo_reader" in findings["database evidence"].detail
    assert "English" in findings["page embedder"].detail
    assert "sha256" in findings["page embedder"].detail

    assert findings["workers"].state == "unreachable"
    assert findings["workers"].needed
    assert findings["model server"].state == "unreachable"
    assert not findings["model server"].needed, "the extractive reader does without"


def test_no_secret_is_shown(findings: dict[str, Finding], settings: LazySettings) -> None:
    shown = " ".join(f"{one.detail} {one.mend}" for one in findings.values())
    for secret in [*(settings.DATABASES[alias]["PASSWORD"] for alias in settings.DATABASES), settings.SECRET_KEY]:
        assert secret not in shown
    assert settings.EMBEDDED_STATE.valkey_password not in shown


def test_everything_unwell_has_a_mend(findings: dict[str, Finding]) -> None:
    assert [one for one in findings.values() if one.state != "ok" and not one.mend] == []


def test_every_setting_is_listed_with_its_meaning() -> None:
    out = StringIO()
    call_command("doctor", "--settings-list", stdout=out)
    for setting in SETTINGS:
        assert f"{setting.name} = " in out.getvalue()
        assert setting.meaning in out.getvalue()
