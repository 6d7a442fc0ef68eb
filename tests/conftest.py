"""What every test may use: private services, a migrated database, committed data that is cleared again.

The connections are those of production: `default` writes as docmemo_writer, `evidence` reads as
docmemo_reader, `migrator` owns the tables. A second connection cannot see an open transaction, so a test
that reads through `evidence` uses `committed_db`.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections

from docmemo_site.embedded import kafka, services, valkey
from docmemo_site.embedded.control import down
from docmemo_site.embedded.home import Home
from docmemo_site.embedded.state import Services
from docmemo_site.settings import env

# These take minutes, so a run that is spread over processes begins with them.
LONGEST = ("journeys/test_odd.py", "faults/test_drill.py", "journeys/test_line.py", "journeys/test_evaluation.py", "journeys/test_site.py")
# Filled by migrations, needed by every later test.
KEPT_TABLES = frozenset({"django_migrations", "django_content_type", "auth_permission"})


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--interleavings", type=int, default=100, metavar="N", help="how many races the tests of access draw (default 100)")


def pytest_configure() -> None:
    """Told to end, a run ends as with Ctrl-C: its services stop and its home goes."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get("/".join(item.path.parts[-2:]), len(place)))


@pytest.fixture(scope="session")
def embedded_home() -> Iterator[Home]:
    """The home of this test run; its services are stopped when the run ends."""
    home = Home(settings.DOCMEMO_HOME)
    yield home
    connections.close_all()
    down(home)


@pytest.fixture(scope="session")
def postgres(embedded_home: Home) -> Services:
    """The addresses of the services, with PostgreSQL running."""
    return services.start(embedded_home, ["postgres"])


@pytest.fixture(scope="session")
def celery_broker(embedded_home: Home) -> str:
    """The address of a running Valkey for Celery."""
    return services.start(embedded_home, [valkey.NAME]).broker_url


@pytest.fixture(scope="session")
def kafka_broker(embedded_home: Home) -> str:
    """host:port of a running broker that speaks Kafka's protocol. It forgets all when it stops."""
    return services.start(embedded_home, [kafka.NAME]).kafka_address


@pytest.fixture(scope="session")
def django_db_setup(postgres: Services, django_db_blocker: object) -> None:
    """Migrate the database of the private home, in place of pytest-django's own test database.

    The home is thrown away with the run, so no database beside its own is needed, and processes that a
    test starts find the same data.
    """
    for alias in connections:
        # The port moves when a stranger took it between the choice and the start.
        connections.databases[alias]["PORT"] = str(postgres.postgres_port)
    with django_db_blocker.unblock():
        call_command("migrate", database="migrator", verbosity=0, interactive=False)
        empty_tables()
        connections.close_all()


@pytest.fixture
def committed_db(django_db_setup: None, django_db_blocker: object) -> Iterator[None]:
    """The three connections with real commits; afterwards every table is emptied again."""
    with django_db_blocker.unblock():
        try:
            yield
        finally:
            for connection in connections.all(initialized_only=True):
                # A test that failed in a transaction must not block the emptying.
                connection.close()
            empty_tables()
            connections.close_all()


def empty_tables() -> None:
    """Empty every table that has rows, as their owner, guards of append-only tables set aside."""
    with connections["migrator"].cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
        )
        tables = [f'"{name}"' for (name,) in cursor.fetchall() if name not in KEPT_TABLES]
        if not tables:
            return
        probes = " UNION ALL ".join(
            f"SELECT '{table}' WHERE EXISTS (SELECT FROM {table})" for table in tables
        )
        cursor.execute(probes)
        filled = [name for (name,) in cursor.fetchall()]
        if not filled:
            return
        # A truncation reaches tables that point at the filled ones, so every guard is set aside.
        cursor.execute(
            "SELECT tgrelid::regclass::text, quote_ident(tgname), tgenabled FROM pg_trigger "
            "WHERE NOT tgisinternal AND tgenabled <> 'D' AND tgparentid = 0"
        )
        guards = cursor.fetchall()
        cursor.execute("BEGIN")
        for table, trigger, _mode in guards:
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER {trigger}")
        cursor.execute(f"TRUNCATE {', '.join(filled)} RESTART IDENTITY CASCADE")
        for table, trigger, mode in guards:
            again = {"O": "ENABLE", "A": "ENABLE ALWAYS", "R": "ENABLE REPLICA"}[mode]
            cursor.execute(f"ALTER TABLE {table} {again} TRIGGER {trigger}")
        cursor.execute("COMMIT")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """With DOCMEMO_NO_SKIPS a run that skipped anything has failed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = len(reporter.stats.get("skipped", [])) if reporter is not None else 0
    if skipped and env.flag("DOCMEMO_NO_SKIPS") and exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"DOCMEMO_NO_SKIPS: {skipped} skipped, so the run has failed.", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
