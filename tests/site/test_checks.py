"""Wrong configuration is found before anything runs."""

from __future__ import annotations

import pytest
from django.conf import LazySettings, settings
from django.core.checks import run_checks


def ids() -> set[str]:
    return {str(message.id) for message in run_checks(tags=["docmemo"])}


def test_the_shipped_configuration_is_clean() -> None:
    assert ids() == set()


def test_an_adapter_that_is_not_there_is_named(settings: LazySettings) -> None:
    settings.SEAMS = {**settings.SEAMS, "blobs": {"BACKEND": "nowhere.Blobs", "OPTIONS": {}}}
    assert ids() == {"docmemo.E001"}


def test_a_missing_and_an_unknown_seam_are_named(settings: LazySettings) -> None:
    renamed = {("blob" if alias == "blobs" else alias): entry for alias, entry in settings.SEAMS.items()}
    settings.SEAMS = renamed
    found = [message.msg for message in run_checks(tags=["docmemo"])]
    assert any("'blobs'" in line for line in found)
    assert any("'blob'" in line for line in found)


def test_a_reader_without_its_server(settings: LazySettings) -> None:
    backend = "qa.seams.reader.openai_compatible.OpenAICompatibleReader"
    settings.SEAMS = {**settings.SEAMS, "reader": {"BACKEND": backend, "OPTIONS": {}}}
    assert "docmemo.E002" in ids()
    server = {"BACKEND": settings.SEAMS["language_model"]["BACKEND"]}
    server["OPTIONS"] = {"base_url": "http://127.0.0.1:1/v1", "model": "m", "api_key": ""}
    settings.SEAMS = {**settings.SEAMS, "language_model": server}
    assert "docmemo.E002" not in ids()


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"DEBUG": True, "ALLOWED_HOSTS": ["docs.example"], "HTTPS": True}, {"docmemo.E003"}),
        ({"DEBUG": True, "ALLOWED_HOSTS": ["localhost"]}, set()),
        ({"ALLOWED_HOSTS": ["docs.example"]}, {"docmemo.W002"}),
        ({"SECRET_KEY": "short"}, {"docmemo.E004"}),
        ({"KAFKA_SECURITY": {"security_protocol": "SASL_SSL"}}, {"docmemo.E006"}),
        ({"KAFKA_SECURITY": {"security_protocol": "PLAINTEXT", "sasl_plain_username": "u"}}, {"docmemo.E006"}),
    ],
)
def test_unsafe_exposure(settings: LazySettings, changes: dict[str, object], wanted: set[str]) -> None:
    for name, value in changes.items():
        setattr(settings, name, value)
    assert ids() == wanted


@pytest.mark.filterwarnings("ignore:Overriding setting DATABASES")
def test_one_role_for_two_connections(settings: LazySettings) -> None:
    shared = {**settings.DATABASES["evidence"], "USER": "docmemo_writer"}
    settings.DATABASES = {**settings.DATABASES, "evidence": shared}
    assert ids() == {"docmemo.E005"}


def test_a_misspelt_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMEMO_REEDER", "extractive")
    assert ids() == {"docmemo.W001"}


def test_seams_are_those_of_the_settings() -> None:
    from docmemo_site.checks import ALIASES

    assert set(settings.SEAMS) == set(ALIASES)
