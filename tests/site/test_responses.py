"""Headers of every response, and log lines that keep document text to themselves."""

from __future__ import annotations

import logging
import sys

import pytest
from django.test import Client

from docmemo_site.logging_lines import OneLine

# Every answer looks whether code and database fit.
pytestmark = pytest.mark.usefixtures("committed_db")


@pytest.fixture
def headers() -> dict[str, str]:
    response = Client().get("/alive/")
    assert response.status_code == 200
    return dict(response.headers)


def test_nothing_from_elsewhere_is_allowed(headers: dict[str, str]) -> None:
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'self'"
    for name in ("object-src", "base-uri", "frame-ancestors"):
        assert policy[name] == "'none'"
    for sources in policy.values():
        assert set(sources.split()) <= {"'self'", "'none'"}


def test_other_headers(headers: dict[str, str]) -> None:
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "private, no-store"


def test_a_page_that_is_not_there_has_them_too() -> None:
    response = Client().get("/no/such/page/")
    assert response.status_code == 404
    assert "Content-Security-Policy" in response.headers


def test_an_event_is_one_line_without_the_message_of_an_exception() -> None:
    try:
        raise ValueError("the salary of Mr Example is 5")
    except ValueError:
        record = logging.LogRecord("docmemo", logging.ERROR, __file__, 1, "job %s\nfailed", ("7",), sys.exc_info())
    line = OneLine().format(record)
    assert "\n" not in line
    assert "salary" not in line
    assert "job 7\\nfailed" in line
    assert "ValueError" in line
    assert "test_responses.py" in line
