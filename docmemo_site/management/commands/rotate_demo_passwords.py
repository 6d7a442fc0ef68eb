"""`manage.py rotate_demo_passwords`: new passwords for the people of the demo."""

from __future__ import annotations

import json
import secrets
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from docmemo_site.embedded.home import write_private
from docmemo_site.management.commands.quickstart import PEOPLE
from docmemo_site.terminal import print_json, services_ready
from ingestion.models import User
from ingestion.services.people import person_password_set


class Command(BaseCommand):
    help = "Give the people of the demo organisation new passwords, kept in demo-passwords.json of the home, readable by its owner only."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        services_ready(self.stderr.write)
        path = Path(settings.DOCMEMO_HOME) / "demo-passwords.json"
        passwords = demo_passwords_change(path)
        if not passwords:
            raise CommandError("There is no demo organisation here.")
        if options["json"]:
            print_json(self.stdout, {"file": str(path), "people": sorted(passwords)})
            return
        for username, password in passwords.items():
            self.stdout.write(f"  {username:<8} {password}")


def demo_passwords_change(path: Path) -> dict[str, str]:
    """Draw a new password for each person of the demo and keep them in `path`; returns them, or nothing where there is no demo."""
    people = list(User.objects.filter(organisation__slug="demo", username__in=[one[0] for one in PEOPLE]).order_by("username"))
    passwords = {user.username: secrets.token_urlsafe(9) for user in people}
    if passwords:
        with transaction.atomic():
            for user in people:
                person_password_set(user=user, password=passwords[user.username], actor="rotate_demo_passwords")
            write_private(path, json.dumps(passwords))
    return passwords
