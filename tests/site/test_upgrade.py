"""An upgrade with live data: old code does no work on a migrated database, and migrations wait for the workers."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.test import Client

from docmemo_site.embedded.home import Home, try_hold
from ingestion.models import StageRun
from ingestion.selectors.schema import schema_gap, watch
from tests.ingestion.fakes import Workbench, bench
from workers.loop import repeat
from workers.tasks import run_stage

__all__ = ["bench"]
NEWER = ("ingestion", "9999_from_the_future")
# A last one: no other migration rests on it.
NEEDED = MigrationLoader(None, ignore_no_migrations=True).graph.leaf_nodes("qa")[0]


def _as_owner(sql: str, *parameters: object) -> None:
    with connections["migrator"].cursor() as cursor:
        cursor.execute(sql, parameters)


@pytest.fixture
def history(committed_db: None) -> Iterator[None]:
    """What a test changes in the list of applied migrations is set right afterwards."""
    watch.looked = float("-inf")
    yield
    _as_owner("DELETE FROM django_migrations WHERE name = %s", NEWER[1])
    _as_owner(
        "INSERT INTO django_migrations (app, name, applied) SELECT %s, %s, now() "
        "WHERE NOT EXISTS (SELECT FROM django_migrations WHERE app = %s AND name = %s)",
        *NEEDED, *NEEDED,
    )  # fmt: skip
    watch.looked = float("-inf")


def newer_database() -> None:
    _as_owner("INSERT INTO django_migrations (app, name, applied) VALUES (%s, %s, now())", *NEWER)
    watch.looked = float("-inf")


def older_database() -> None:
    _as_owner("DELETE FROM django_migrations WHERE app = %s AND name = %s", *NEEDED)
    watch.looked = float("-inf")


def test_code_and_database_of_one_state_fit(history: None) -> None:
    assert not schema_gap()


def test_a_newer_database_is_named(history: None) -> None:
    newer_database()
    gap = schema_gap()
    assert gap.unknown == ("ingestion.9999_from_the_future",) and not gap.lacking and "older code" in gap.sentence


def test_an_older_database_is_named(history: None) -> None:
    older_database()
    gap = schema_gap()
    assert gap.lacking == (".".join(NEEDED),) and "manage.py migrate" in gap.sentence


def test_a_process_that_began_well_ends_when_the_database_goes_ahead(history: None) -> None:
    steps: list[int] = []
    stop = threading.Event()

    def step() -> bool:
        steps.append(len(steps))
        if len(steps) == 3:
            newer_database()
        if len(steps) > 50:
            stop.set()
        return True

    repeat("the test", step, stop, idle_seconds=0.0)
    assert steps == [0, 1, 2]


def test_a_process_that_never_fitted_waits_and_begins_once_it_does(history: None, monkeypatch: pytest.MonkeyPatch) -> None:
    older_database()
    monkeypatch.setattr(watch, "every", 0.01)
    stop, looks = threading.Event(), []
    look = type(watch).look

    def counted(self):
        looks.append(look(self))
        if len(looks) == 3:
            _as_owner("INSERT INTO django_migrations (app, name, applied) VALUES (%s, %s, now())", *NEEDED)
        return looks[-1]

    monkeypatch.setattr(type(watch), "look", counted)

    def step() -> bool:
        stop.set()
        return True

    repeat("the test", step, stop, idle_seconds=0.0)
    assert stop.is_set() and [bool(one) for one in looks[:3]] == [True, True, True] and not looks[-1]


def test_a_worker_of_old_code_leaves_the_work_in_the_database(bench: Workbench, history: None) -> None:
    bench.submit("one page")
    bench.deliver()
    run = StageRun.objects.get()
    newer_database()
    run_stage(str(run.id))
    run.refresh_from_db()
    assert (run.state, run.attempts) == ("pending", 0)
    _as_owner("DELETE FROM django_migrations WHERE name = %s", NEWER[1])
    watch.looked = float("-inf")
    run_stage(str(run.id))
    run.refresh_from_db()
    assert (run.state, run.attempts) == ("done", 1)


def test_the_site_of_old_code_answers_503(history: None) -> None:
    client = Client()
    assert client.get("/signin/").status_code == 200
    newer_database()
    assert client.get("/alive/").status_code == 200
    answer = client.get("/signin/")
    assert answer.status_code == 503 and b"older code" in answer.content and answer.headers["Retry-After"]


def test_migrate_refuses_while_workers_run(history: None, embedded_home: Home) -> None:
    held = try_hold(embedded_home.supervisor_lock)
    assert held is not None
    try:
        call_command("migrate", verbosity=0, interactive=False)  # nothing to do
        older_database()
        with pytest.raises(CommandError, match="--restart-workers"):
            call_command("migrate", verbosity=0, interactive=False)
        call_command("migrate", plan=True, verbosity=0, interactive=False)
    finally:


        os.close(held)


def test_migrate_refuses_while_the_application_is_signed_in_to_your_own_database(history: None, settings) -> None:
    settings.EMBEDDED_SERVICES = frozenset()
    older_database()
    known = connections["default"].get_connection_params()


    parts = {part: known[part] for part in ("host", "port", "user", "password", "dbname")}
    with psycopg.connect(**parts), pytest.raises(CommandError, match="1 sessions of"):
        call_command("migrate", verbosity=0, interactive=False)
