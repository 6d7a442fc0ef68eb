"""`manage.py dead_letters`: what could not be taken in, and taking it in again."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from docmemo_site.terminal import print_json, services_ready
from ingestion.models import DeadLetter
from ingestion.services.redrive import dead_letter_redrive

SHOWN = 200


class Command(BaseCommand):
    help = "List the dead letters with their causes, newest first, or take some in again once their cause was mended."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--cause", help="only those with this cause, such as unknown_corpus")
        parser.add_argument("--redrive", nargs="+", metavar="ID", help="take these in again; `all` means all that are listed")
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        services_ready(self.stderr.write)
        letters = DeadLetter.objects.select_related("inbox_event").order_by("-created_at")
        if options["cause"]:
            letters = letters.filter(cause=options["cause"])
        if options["redrive"]:
            self._redrive(letters, options)
            return
        rows = [
            {
                "id": str(letter.id), "at": letter.created_at, "topic": letter.topic, "offset": letter.offset, "cause": letter.cause,
                "reason": letter.reason, "document": letter.inbox_event.external_id if letter.inbox_event else None,
            }
            for letter in letters[:SHOWN]
        ]  # fmt: skip
        if options["json"]:
            print_json(self.stdout, {"count": letters.count(), "dead_letters": rows})
            return
        for row in rows:
            self.stdout.write(f"{row['id']}  {row['at']:%Y-%m-%d %H:%M}  {row['cause']:<16} {row['document'] or '-'}  {row['reason']}")
        self.stdout.write(f"{letters.count()} dead letters")

    def _redrive(self, letters: Any, options: dict[str, Any]) -> None:
        wanted = options["redrive"]
        try:
            chosen = list(letters if wanted == ["all"] else letters.filter(id__in=[UUID(one) for one in wanted]))
        except ValueError as error:
            raise CommandError(f"An id of a dead letter is expected, or all: {error}", returncode=2) from error
        if wanted != ["all"] and len(chosen) < len(set(wanted)):
            raise CommandError("Some of these are no dead letters (any more).")
        taken = [str(letter.id) for letter in reversed(chosen) if dead_letter_redrive(letter=letter, actor="command-line")]
        if options["json"]:
            print_json(self.stdout, {"taken_in": taken, "still_dead": len(chosen) - len(taken)})
        else:
            self.stdout.write(f"{len(taken)} taken in again, {len(chosen) - len(taken)} still dead (see their reasons).")
