"""`manage.py rotate_database_passwords`: new passwords for the three roles of the embedded PostgreSQL."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from docmemo_site.embedded import ensure_up
from docmemo_site.embedded.errors import EmbeddedError
from docmemo_site.embedded.home import Home
from docmemo_site.embedded.rotation import ROLES, database_passwords_rotate
from docmemo_site.terminal import print_json


class Command(BaseCommand):
    help = (
        "Give docmemo_migrator, docmemo_writer and docmemo_reader of the embedded PostgreSQL new passwords, kept in run/services.json of "
        "the home. Processes that run use them from their next connection on; none has to be restarted."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--end-sessions", action="store_true", help="end every session of the three roles too, as when a password has leaked"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        if "postgres" not in settings.EMBEDDED_SERVICES:
            raise CommandError(
                "DATABASE_URL names a PostgreSQL of your own: run ops/roles.sql with new passwords, put them into DATABASE_URL and its "
                "fellows, and start the processes again (ops/runbook.md, Rotation)."
            )
        try:
            ensure_up(services_only=True, say=self.stderr.write)
            ended = database_passwords_rotate(Home(settings.DOCMEMO_HOME), end_sessions=options["end_sessions"])
        except EmbeddedError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            print_json(self.stdout, {"roles": list(ROLES), "sessions_ended": ended})
        else:
            self.stdout.write(f"New passwords for {', '.join(ROLES)}; {ended} sessions were ended.")
