"""The sweep: every route and every command that reads for a person answers as if what he may not see were not there.

The same world is asked twice, as it was made and with everything taken away that the person may not know of; ids, time and seed are
the same, so the answers must be the same bytes, by the same number of queries.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from importlib import import_module
from itertools import product
from typing import Any
from uuid import UUID

import pytest
from django.core.cache import cache
from django.core.management import call_command, get_commands
from django.db import connections
from django.http import HttpResponse
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver
from django.utils import timezone

from ingestion.models import Corpus, Document, Job, OutboxEvent, Page, Source, User
from ingestion.selectors import evidence, schema
from ingestion.views import pages as page_views
from qa.models import Citation, Run
from qa.selectors import portal
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
from tests.qa.views.test_routes import API, ROUTES, _routes

# What is not compared, and why: nothing else is.
NOT_COMPARED = {
    "csrf": (re.compile(rb'(csrfmiddlewaretoken" value=|"X-CSRFToken": ?)"[^"]+"'), "a mask drawn anew for each answer"),
    "cookie": (re.compile(r"csrftoken|sessionid"), "as above"),
    "clock": ("cost.seconds", "how long the reader took"),
    "queries": (re.compile(r"/runs/"), "of one's own past run: evidence that was purged has no rows left to read, forbidden one has"),
    "run": (re.compile(rb"(?<=/runs/)[0-9a-f-]{36}|(?<=/citations/)[0-9a-f-]{36}"), "questions asked in both worlds have ids of their own"),
}
# Addresses that are not asked, and why.
NOT_ASKED = {
    "signin/": "tried by test_signin: it reads no document",
    "signout/": "ends the session that the sweep needs; it reads no document",
    **dict.fromkeys(API, "opens for programs with a token only; tests/ingestion/views/test_api.py tries them"),
    **dict.fromkeys(("healthz", "readyz", "metrics"), "of the installation, for its operator; tests/site/test_health.py tries them"),
}
# Where a person manages, ids, titles and states of his organisation's documents are his to know; there the absent world lacks other
# organisations' documents only.
MANAGED = {
    "admin": ("console/", "recall/"), "owner": ("console/", "recall/"), "auditor": ("audit/", "recall/"),
    "outsider": ("console/", "audit/", "recall/"),
}  # fmt: skip

# Commands that take no person act for the operator, who has the machine; with the reason.
OPERATOR_COMMANDS = {
    "audit": "verifies the chain", "dead_letters": "events that failed", "delete": "deletes", "doctor": "looks at the installation",
    "documents": "lists what there is, for the operator", "down": "stops the services", "evaluate": "asks as its own person",
    "event_schemas": "prints schemas", "ingest": "takes in", "migrate": "changes tables", "purges": "receipts of deletions",
    "quickstart": "sets up its own sample", "rebuild": "builds anew", "run_consumer": "a process", "run_relay": "a process",
    "run_sweeper": "a process", "up": "starts the services", "access": "explains and changes rights", "backup": "copies all",
    "directory": "syncs people", "fault_drill": "has an installation of its own", "jobs": "controls the work", "restore": "puts back all",
    "retention": "forgets what is old", "rotate_database_passwords": "secrets", "rotate_demo_passwords": "secrets",
    "rotate_secret_key": "secrets", "run_watcher": "a process", "sources": "sets sources up", "workers": "lists workers",
}  # fmt: skip
PERSONAL_COMMANDS = {"ask", "trail"}
PERSONAL_ELSEWHERE = {"recall": "for owners and auditors, whose rights tests/qa/services/test_freshness.py tries"}

FROZEN = datetime.fromisoformat("2031-05-05T10:00:00+00:00")
QUESTIONS = ("What does the pump X-200 cost?", "Who bought the company in the merger?")
ABSENT = str(UUID(int=1))  # the id of nothing
Answer = tuple[int, tuple[tuple[str, str], ...], bytes, tuple[int, ...]]


@pytest.fixture
def still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: FROZEN)
    monkeypatch.setattr(schema.watch, "every", float("inf"))  # its look every ten seconds is no part of an answer
    schema.watch.look()


# --- asking ----------------------------------------------------------------------------------------------


def addresses(route: str, kept: dict[str, list[str]]) -> Iterator[str]:
    """The route with every id that there is in the whole world, and one that nothing has."""
    route = route.replace("<str:action>", "cancel")
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
        "source_id": Source.objects, "page_id": Page.objects.filter(number__lte=3),
    }  # fmt: skip
    return {name: [*sorted(str(i) for i in rows.values_list("id", flat=True)), ABSENT] for name, rows in found.items()}


def plain(response: HttpResponse, queries: tuple[int, ...]) -> Answer:
    body = b"".join(response.streaming_content) if response.streaming else response.content
    body = NOT_COMPARED["csrf"][0].sub(rb"\1", body)
    headers = tuple(sorted((k, v) for k, v in response.headers.items()))
    return response.status_code, headers, body, queries


def call(world: World, who: str, method: str, path: str) -> Answer:
    """The answer, and how many queries it took on each connection."""
    for alias in ("default", "evidence"):
        connections[alias].queries_log.clear()  # it holds 9,000 and then counts wrongly
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
        changes = areas is not None and ROUTES[route].method == "post" and who not in ROUTES[route].inside
        for path in addresses(route, kept):
            found.append(("get", path))
            if changes:
                found.append(("post", path))
    return found


def record(world: World, who: str, asked: list[tuple[str, str]]) -> dict[tuple[str, str], Answer]:
    cache.clear()
    call(world, who, "get", "/healthz")  # the first query of a connection is not like the others
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
        outcome["cost"].pop("seconds")
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
    found = [f"{who} {probe}: {_what(whole[probe], lacking[probe])}" for probe in asked if not _same(probe, whole[probe], lacking[probe])]
    if len(whole_told) != len(lacking_told):
        found.append(f"{who} was told {len(whole_told)} things and {len(lacking_told)}")
    return found + [f"{who} was told {a} and {b}" for a, b in zip(whole_told, lacking_told, strict=False) if a != b]


def _same(probe: tuple[str, str], whole: Answer, lacking: Answer) -> bool:
    compared = 3 if NOT_COMPARED["queries"][0].match(probe[1]) and whole[0] == 200 else 4
    return whole[:compared] == lacking[:compared]


def _what(whole: Answer, lacking: Answer) -> str:
    names = ("status", "headers", "body", "queries")
    differ = [name for name, a, b in zip(names, whole, lacking, strict=True) if a != b]
    lines = set(whole[2].splitlines()) ^ set(lacking[2].splitlines())
    return f"{differ} {whole[0]}/{lacking[0]} {whole[3]}/{lacking[3]} {sorted(lines)[:4]}"


# --- the sweep ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_what_a_person_may_not_see_changes_no_answer(scene: Scene, still_clock: None, seed: int) -> None:
    world = world_make(scene, seed)
    wrong: list[str] = []
    for who in PEOPLE:
        wrong += differences(world, who, hide_what_tags_do_not_open, MANAGED.get(who, ("no such area/",)))
    for who in ("admin", "auditor", "outsider"):  # all of their doors, towards another company's documents
        wrong += differences(world, who, hide_other_organisations, None)
    assert not wrong, "\n".join(wrong)


def test_forbidden_and_absent_are_the_same_answer_by_the_same_queries(scene: Scene, still_clock: None) -> None:
    """Within one world: every refused address with an id that exists against the same address with the id of nothing."""
    world = world_make(scene, 4)
    kept, wrong, refused = ids_of_everything(), [], 0
    for who in PEOPLE:
        asked = probes(who, kept, MANAGED.get(who, ("no such area/",)))
        answers = record(world, who, asked)
        for (method, path), answer in answers.items():
            absent = (method, re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", ABSENT, path))
            if answer[0] == 404 and absent[1] != path:
                refused += 1
                if answer != answers[absent]:
                    wrong.append(f"{who} {method} {path}: {_what(answer, answers[absent])}")
    assert refused > 300
    assert not wrong, "\n".join(wrong)


def test_the_routes_of_the_sweep_are_those_of_the_site() -> None:
    assert set(NOT_ASKED) < set(_routes(get_resolver().url_patterns)) == {*ROUTES, *API}


# --- the sweep notices a leak ---------------------------------------------------------------------------------


def test_a_count_over_all_documents_is_noticed(scene: Scene, still_clock: None, monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_make(scene, 5)
    honest = portal.choices

    def leaky(user: User, corpus_slug: str = "") -> portal.Choices:
        found = honest(user, corpus_slug)
        return replace(found, corpora=[*found.corpora, ("all", f"all {Document.objects.count()} documents")])

    monkeypatch.setattr(portal, "choices", leaky)
    assert any("bob ('get', '/?" in line and "body" in line for line in differences(world, "bob", hide_what_tags_do_not_open, None))


def test_one_more_query_for_a_page_that_exists_is_noticed(scene: Scene, still_clock: None, monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_make(scene, 6)
    def slower(asker: Any, page_id: UUID) -> bytes | None:
        if Page.objects.filter(id=page_id).exists():
            Page.objects.filter(id=page_id).values_list("number", flat=True).first()
        return evidence.evidence_image(asker, page_id)

    monkeypatch.setattr(page_views, "evidence_image", slower)
    assert any("/image" in line and "queries" in line for line in differences(world, "bob", hide_what_tags_do_not_open, None))


# --- commands ---------------------------------------------------------------------------------------------------


def commands() -> dict[str, Any]:
    """Our own management commands."""
    return {
        name: import_module(f"{app}.management.commands.{name}").Command()
        for name, app in get_commands().items()
        if isinstance(app, str) and app.split(".")[0] in ("docmemo_site", "ingestion", "qa")
    }


def test_every_command_is_the_operators_or_is_swept() -> None:
    personal = set()
    for name, command in commands().items():
        parser = command.create_parser("manage.py", name)
        if any("--as" in action.option_strings for action in parser._actions):
            personal.add(name)
    assert personal == PERSONAL_COMMANDS | set(PERSONAL_ELSEWHERE)
    assert set(commands()) - personal == set(OPERATOR_COMMANDS)


def say(name: str, *arguments: str) -> str:
    out = io.StringIO()
    call_command(name, *arguments, stdout=out, stderr=out)
    return re.sub(r'"seconds": [0-9.e-]+|"run": "[^"]+"|\(.*run [0-9a-f-]{36}\)', "", out.getvalue())


def test_commands_for_a_person_say_the_same(scene: Scene, still_clock: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """`ask` for everybody, without what his tags do not open; `trail` for each auditor, without other organisations' documents."""
    for name in PERSONAL_COMMANDS:  # the services of the test run are up; starting them would start workers on its database
        monkeypatch.setattr(import_module(f"docmemo_site.management.commands.{name}"), "services_ready", lambda _say: None)
    world = world_make(scene, 7)
    names = [(corpus, document) for corpus in ("library", "second", "none") for document in ("", "board.pdf", "drawn-1.pdf", "x.pdf")]

    def asked(who: str) -> list[str]:
        said = []
        for corpus, document in names:
            options = ["--as", world.user(who).username, "--corpus", corpus, "--seed", "5", "--json"]
            said.append(say("ask", QUESTIONS[0], *options, *(["--document", document] if document else [])))
        return said

    def trailed(who: str) -> list[str]:
        return [say("trail", str(run.id), "--as", world.user(who).username, "--json") for run in (scene.answered, scene.unanswered)]

    for who, tell, hide in [
        *((who, asked, hide_what_tags_do_not_open) for who in ("alice", "bob", "admin", "auditor", "mallory")),
        *((who, trailed, hide_other_organisations) for who in ("auditor", "alice")),
    ]:
        world_restore(world)
        whole = tell(who)
        world_restore(world)
        hide(world.user(who))
        assert whole == tell(who), who
