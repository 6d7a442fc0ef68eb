"""`manage.py rotate_secret_key`: a new key signs, the former ones still verify for a while."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from docmemo_site.embedded.errors import EmbeddedError
from docmemo_site.embedded.home import Home
from docmemo_site.embedded.rotation import secret_key_rotate
from docmemo_site.settings import env
from docmemo_site.terminal import print_json


class Command(BaseCommand):
    help = (
        "Make a new secret key in the home of the embedded default. Sessions stay valid until --drop-former. "
        "Processes use the new key once they are started again."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--drop-former", action="store_true", help="what former keys signed is worth nothing from now on: everybody signs in anew"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        if env.is_set("SECRET_KEY"):
            raise CommandError("SECRET_KEY is set in the environment: change it there, and put the former key into SECRET_KEY_FALLBACKS.")
        try:
            former = secret_key_rotate(Home(settings.DOCMEMO_HOME), drop_former=options["drop_former"])
        except EmbeddedError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            print_json(self.stdout, {"former_keys": former})
        else:
            self.stdout.write(f"A new key signs once the site and the workers are started again; {former} former keys still verify.")
