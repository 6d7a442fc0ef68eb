"""Signing in, and being kept out after too many failed attempts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.test import Client

from ingestion.views.lockout import MAX_FAILURES, Attempts
from tests.people import PASSWORD, Cast, make_cast


@pytest.fixture
def cast(committed_db: None) -> Iterator[Cast]:
    cache.clear()
    yield make_cast()
    cache.clear()


def _signin(client: Client, username: str, password: str, address: str = "10.0.0.1", **data: str):
    return client.post("/signin/", {"username": username, "password": password, **data}, REMOTE_ADDR=address)


def test_signing_in_and_out(cast: Cast) -> None:
    client = Client()
    answer = _signin(client, "alice", PASSWORD)
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert client.get("/").status_code == 200
    assert client.get("/signout/").status_code == 405
    assert client.post("/signout/")["Location"] == "/signin/"
    assert client.get("/")["Location"] == "/signin/?next=/"


def test_refusals_are_all_the_same(cast: Cast) -> None:
    cast.bob.is_active = False
    cast.bob.save()
    pages = set()
    for username, password in (("alice", "wrong"), ("nobody", PASSWORD), ("bob", PASSWORD)):
        answer = _signin(Client(), username, password)
        assert answer.status_code == 200 and "do not go together" in answer.content.decode()
        pages.add(answer.content.decode().split("csrfmiddlewaretoken")[0])
    assert len(pages) == 1


def test_too_many_failures_close_the_door_even_for_the_right_password(cast: Cast) -> None:
    for _ in range(MAX_FAILURES):
        assert _signin(Client(), "alice", "wrong").status_code == 200
    for username in ("alice", "ALICE ", " Alice"):
        closed = _signin(Client(), username, PASSWORD)
        assert closed.status_code == 429 and "Too many failed attempts" in closed.content.decode()
    assert _signin(Client(), "alice", PASSWORD, address="10.0.0.2").status_code == 302
    assert _signin(Client(), "auditor", "wrong").status_code == 200


def test_names_that_nobody_has_are_closed_alike(cast: Cast) -> None:
    answers = [_signin(Client(), "nobody", "wrong").status_code for _ in range(MAX_FAILURES + 1)]
    assert answers == [200] * MAX_FAILURES + [429]


def test_success_clears_the_count(cast: Cast) -> None:
    for _ in range(3):
        for _ in range(MAX_FAILURES - 1):
            _signin(Client(), "alice", "wrong")
        assert _signin(Client(), "alice", PASSWORD).status_code == 302


def test_the_window_ends() -> None:
    cache.clear()
    attempts = Attempts.of("alice", "10.0.0.1")
    assert [attempts.begin() for _ in range(MAX_FAILURES + 1)] == [True] * MAX_FAILURES + [False]
    cache.delete(attempts.key)  # as its expiry does
    assert attempts.begin()
    assert Attempts.of("alice", "10.0.0.2").key != attempts.key


@pytest.mark.parametrize("there", ["https://example.org/", "//example.org", "javascript:alert(1)"])
def test_nobody_is_sent_elsewhere(cast: Cast, there: str) -> None:
    assert _signin(Client(), "alice", PASSWORD, next=there)["Location"] == "/"
    assert _signin(Client(), "alice", PASSWORD, next="/questions/")["Location"] == "/questions/"


def test_a_polling_page_that_lost_its_session_goes_to_the_door(cast: Cast) -> None:
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/questions/?page=2"}
    answer = Client().get("/signin/?next=/runs/1/", headers=headers)
    assert (answer.status_code, answer["HX-Redirect"]) == (204, "/signin/?next=%2Fquestions%2F%3Fpage%3D2")


def test_a_person_of_no_organisation_sees_empty_doors(cast: Cast) -> None:
    cast.alice.organisation = None
    cast.alice.save()
    client = Client()
    client.force_login(cast.alice)
    assert client.get("/").status_code == 200
    assert client.post("/", {"corpus": "library", "question": "x"}).status_code == 422
    assert {client.get(path).status_code for path in ("/console/", "/audit/", "/audit/chain/")} == {404}
