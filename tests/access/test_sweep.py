"""The sweep: every route and every command that reads for a person answers as if what he may not see were not there.

The same world is asked twice, as it was made and with everything taken away that the person may not know of; ids, time and seed are
the same, so the answers must be the same bytes, by the same number of queries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime
from itertools import product
from typing import Any
from uuid import UUID

import pytest
from django.core.cache import cache
from django.db import connections
from django.http import HttpResponse
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver
from django.utils import timezone

from ingestion.models import Corpus, Document, Job, OutboxEvent, Page, User
from ingestion.selectors import evidence
from qa.models import Citation, Run
from qa.selectors.outcome import run_outcome
from qa.services.answering import run_execute
from qa.services.questions import question_ask
from tests.access.worlds import (
    PEOPLE,
    World,
    hide_other_organisations,
    hide_what_tags_do_not_open,
    world_make,
    world_restore,
)
from tests.qa.views.scene import Scene
from tests.qa.views.test_routes import ROUTES, _routes

# What is not compared, and why: nothing else is.
NOT_COMPARED = {
    "csrf": (re.compile(rb'(csrfmiddlewaretoken" value=|"X-CSRFToken": ?)"[^"]+"'), "a mask drawn anew for each answer"),
    "cookie": (re.compile(r"csrftoken|sessionid"), "as above"),
    "run": (re.compile(rb"(?<=/runs/)[0-9a-f-]{36}"), "questions asked in both worlds have ids of their own"),
}
# Addresses that are not asked, and why.
NOT_ASKED = {
    "signin/": "tried by test_signin: it reads no document",
    "signout/": "ends the session that the sweep needs; it reads no document",
}
# Where a person manages, ids, titles and states of his organisation's documents are his to know; there the absent world lacks other
# organisations' documents only.
MANAGED = {"admin": ("console/",), "owner": ("console/",), "auditor": ("audit/",), "outsider": ("console/", "audit/")}

# Commands that take no person act for the operator, who has the machine; with the reason.
OPERATOR_COMMANDS = {
    "audit": "verifies the chain", "dead_letters": "events that failed", "delete": "deletes", "doctor": "looks at the installation",
    "documents": "lists what there is, for the operator", "down": "stops the services", "evaluate": "asks as its own person",
    "event_schemas": "prints schemas", "ingest": "takes in", "migrate": "changes tables", "purges": "receipts of deletions",
    "quickstart": "sets up its own sample", "rebuild": "builds anew", "run_consumer": "a process", "run_relay": "a process",
    "run_sweeper": "a process", "up": "starts the services",
}  # fmt: skip
PERSONAL_COMMANDS = {"ask", "trail"}

FROZEN = datetime.fromisoformat("2031-05-05T10:00:00+00:00")
QUESTIONS = ("What does the pump X-200 cost?", "Who bought the company in the merger?")
Answer = tuple[int, tuple[tuple[str, str], ...], bytes, tuple[int, ...]]


@pytest.fixture
def still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: FROZEN)


# --- asking ----------------------------------------------------------------------------------------------


def addresses(route: str, kept: dict[str, list[str]]) -> Iterator[str]:
    """The route with every id that there is in the whole world, and one that nothing has."""
    names = re.findall(r"<uuid:(\w+)>", route)
    for ids in product(*(kept[name] for name in names)):
        path = route
        for name, value in zip(names, ids, strict=True):
            path = path.replace(f"<uuid:{name}>", value)
        yield f"/{path}"
    if not names:
        yield from (f"/{route}?{query}" for query in ("corpus=library", "corpus=second", "q=drawn&person=a&page=2"))


def ids_of_everything() -> dict[str, list[str]]:
    """For each kind of id in an address: those of the whole world, hidden ones too, and one of nothing."""
    found = {
        "corpus_id": Corpus.objects, "document_id": Document.objects, "job_id": Job.objects, "run_id": Run.objects,
        "citation_id": Citation.objects, "event_id": OutboxEvent.objects.filter(topic="docmemo.documents"),
        "page_id": Page.objects.filter(number__lte=3),
    }  # fmt: skip
    return {name: [*sorted(str(i) for i in rows.values_list("id", flat=True)), str(UUID(int=1))] for name, rows in found.items()}


def plain(response: HttpResponse, queries: tuple[int, ...]) -> Answer:
    body = b"".join(response.streaming_content) if response.streaming else response.content
    body = NOT_COMPARED["csrf"][0].sub(rb"\1", body)
    headers = tuple(sorted((k, v) for k, v in response.headers.items()))
    return response.status_code, headers, body, queries


def call(world: World, who: str, method: str, path: str) -> Answer:
    """The answer, and how many queries it took on each connection."""
    with ExitStack() as stack:
        captured = [stack.enter_context(CaptureQueriesContext(connections[alias])) for alias in ("default", "evidence")]
        response = getattr(world.clients[who], method)(path)
        body = plain(response, ())
    return (*body[:3], tuple(len(one) for one in captured))


def probes(who: str, kept: dict[str, list[str]], areas: tuple[str, ...] | None) -> list[tuple[str, str]]:
    """What is asked: each route with a GET, and those that change something with a POST too where the person is not let in."""
    found = []
    for route in _routes(get_resolver().url_patterns):
        if route in NOT_ASKED or (areas is not None and route.startswith(areas)):
            continue
        changes = ROUTES[route].method == "post" and who not in ROUTES[route].inside
        for path in addresses(route, kept):
            found.append(("get", path))
            if changes:
                found.append(("post", path))
    return found


def record(world: World, who: str, asked: list[tuple[str, str]]) -> dict[tuple[str, str], Answer]:
    cache.clear()
    call(world, who, "get", "/alive/")  # the first query of a connection is not like the others
    evidence.rows("select 1", {})
    return {probe: call(world, who, *probe) for probe in asked}


def ask_in(world: World, who: str) -> list[Any]:
    """What the person is told in answer to questions: as a value, and as his page."""
    told: list[Any] = []
    for text, slug in product(QUESTIONS, ("library", "second")):
        run = question_ask(user=world.user(who), corpus_slug=slug, text=text, seed=11)
        run_execute(run.id)
        run.refresh_from_db()
        outcome = {**run_outcome(run), "run": ""}
        page = call(world, who, "get", f"/runs/{run.id}/")
        told.append((outcome, NOT_COMPARED["run"][0].sub(b"", page[2]).replace(str(run.id).encode(), b""), page[3]))
        for citation in Citation.objects.filter(claim__answer__run=run).order_by("claim__ordinal", "ordinal"):
            status, _, _, queries = call(world, who, "get", f"/runs/{run.id}/citations/{citation.id}/")
            told.append((status, queries, str(citation.page_id)))
    return told


def differences(world: World, who: str, hide: Callable[[User], set[UUID]], areas: tuple[str, ...] | None) -> list[str]:
    """Ask in the whole world and in the one without what is hidden; what differs, in words."""
    world_restore(world)
    asked = probes(who, ids_of_everything(), areas)
    whole, whole_told = record(world, who, asked), ask_in(world, who) if areas is not None else []
    world_restore(world)
    hide(world.user(who))
    lacking, lacking_told = record(world, who, asked), ask_in(world, who) if areas is not None else []
    found = [f"{who} {probe}: {_what(whole[probe], lacking[probe])}" for probe in asked if whole[probe] != lacking[probe]]
    return found + [f"{who} was told {a} and {b}" for a, b in zip(whole_told, lacking_told, strict=False) if a != b]


def _what(whole: Answer, lacking: Answer) -> str:
    names = ("status", "headers", "body", "queries")
    differ = [name for name, a, b in zip(names, whole, lacking, strict=True) if a != b]
    lines = set(whole[2].splitlines()) ^ set(lacking[2].splitlines())
    return f"{differ} {whole[0]}/{lacking[0]} {whole[3]}/{lacking[3]} {sorted(lines)[:4]}"


# --- the sweep ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_a_person_may_not_see_changes_no_answer(scene: Scene, still_clock: None, seed: int) -> None:
    world = world_make(scene, seed)
    wrong: list[str] = []
    for who in PEOPLE:
        wrong += differences(world, who, hide_what_tags_do_not_open, MANAGED.get(who, ("no such area/",)))
    for who in ("admin", "auditor", "outsider"):  # all of their doors, towards another company's documents
        wrong += differences(world, who, hide_other_organisations, None)
    assert wrong == []
