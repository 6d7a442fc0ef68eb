"""`manage.py migrate`, as the role that owns the tables, and never under the feet of processes that work."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands.migrate import Command as DjangoMigrate
from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor

from docmemo_site.embedded import control
from docmemo_site.embedded.errors import EmbeddedError
from docmemo_site.embedded.home import Home, is_held
from docmemo_site.settings import env

ALIAS = "migrator"


class Command(DjangoMigrate):
    """Django's command, on the connection `migrator` unless another one is named.

    It refuses while workers of the embedded default run, or while the application's role is signed in to a PostgreSQL of your own,
    unless there is nothing to migrate.
    """

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        # The application's own role may not make or change tables.
        parser.set_defaults(database=ALIAS)
        parser.add_argument(
            "--restart-workers", action="store_true", help="embedded default: stop the workers, migrate, and start them again"
        )
        parser.add_argument(
            "--while-running",
            action="store_true",
            help="PostgreSQL of your own: migrate although the application is signed in; its processes then do no work until restarted",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if self._harmless(options):
            super().handle(*args, **options)
            return
        home = Home(settings.DOCMEMO_HOME)
        if "postgres" not in settings.EMBEDDED_SERVICES:
            self._refuse_sessions(options)
        elif is_held(home.supervisor_lock):
            if not options["restart_workers"]:
                raise CommandError(
                    "The workers run, and old code must not meet the new tables. manage.py migrate --restart-workers stops them, "
                    "migrates and starts them again; so does manage.py up after new code was put in place."
                )
            self._between_down_and_up(home, args, options)
            return
        super().handle(*args, **options)

    def _harmless(self, options: dict[str, Any]) -> bool:
        """Nothing would change, only a plan or a check is asked for, or the supervisor asks before it starts any worker."""
        if options["database"] != ALIAS or options["plan"] or options["check_unapplied"] or env.supervised():
            return True
        if options["app_label"]:
            return False
        try:
            executor = MigrationExecutor(connections[ALIAS])
            return not executor.migration_plan(executor.loader.graph.leaf_nodes())
        except DatabaseError:
            # Django's own command says what is wrong.
            return True

    def _between_down_and_up(self, home: Home, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        try:
            connections.close_all()
            control.down(home, say=self.stderr.write)
            control.up(home, services_only=True, say=self.stderr.write)
            try:
                super().handle(*args, **options)
            finally:
                connections.close_all()
                control.up(home, say=self.stderr.write)
        except EmbeddedError as error:
            raise CommandError(str(error)) from error

    def _refuse_sessions(self, options: dict[str, Any]) -> None:
        """Refuse while anybody is signed in as the application's roles."""
        if options["while_running"]:
            return
        users = [settings.DATABASES[alias]["USER"] for alias in ("default", "evidence")]
        connections["default"].close()
        connections["evidence"].close()
        with connections[ALIAS].cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = ANY(%s)", [users])
            (count,) = cursor.fetchone()
        if count:
            raise CommandError(
                f"{count} sessions of {' and '.join(users)} are open. Stop workers and web processes first, or say --while-running: "
                "processes of older code notice the migration and do no work until they are started again."
            )
