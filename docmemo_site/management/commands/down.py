"""`manage.py down`: stop everything of the embedded default."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from docmemo_site.embedded.control import down, status
from docmemo_site.embedded.errors import EmbeddedError
from docmemo_site.embedded.home import Home
from docmemo_site.settings import env


class Command(BaseCommand):
    """Stops the application first and then the services, leftovers of killed runs included."""

    help = "Stop the embedded services and the application's workers. Stored data stays."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON value")

    def handle(self, *_args: Any, **options: Any) -> None:
        home = Home(env.home())
        try:
            leftovers = down(home, say=self.stderr.write)
        except EmbeddedError as error:
            raise CommandError(str(error)) from error
        after = status(home).state
        if options["json"]:
            self.stdout.write(json.dumps({"state": after, "leftovers": leftovers}))
        else:
            more = f" {len(leftovers)} leftover processes were ended." if leftovers else ""
            self.stdout.write(f"Everything is down.{more}")
