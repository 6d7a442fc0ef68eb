"""`manage.py dead_letters`: what could not be taken in, and why; and trying it again when the cause is gone."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from docmemo_site.terminal import print_json, services_ready
from ingestion.models import DeadLetter
from ingestion.services.events import dead_letter_redrive


class Command(BaseCommand):
    help = "List the messages and events that could not be taken in, with their causes, or try them again (redrive)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", nargs="?", choices=["list", "redrive"], default="list")
        parser.add_argument("ids", nargs="*", metavar="ID", help="redrive these")
        parser.add_argument("--cause", metavar="CODE", help="only those of this cause")
        parser.add_argument("--all", action="store_true", help="redrive all that were not redriven yet; list also those that were")
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        services_ready(self.stderr.write)
        letters = DeadLetter.objects.select_related("inbox_event").order_by("created_at")
        if options["cause"]:
            letters = letters.filter(cause=options["cause"])
        if options["action"] == "redrive":
            self._redrive(letters, options)
            return
        rows = [_row(letter) for letter in (letters if options["all"] else letters.filter(redriven_at__isnull=True))]
        if options["json"]:
            print_json(self.stdout, {"dead_letters": rows})
            return
        for row in rows:
            self.stdout.write(f"{row['id']}  {row['at']}  {row['topic']}  {row['key']}  {row['cause']}: {row['reason']}")
        self.stdout.write(f"{len(rows)} dead letters")

    def _redrive(self, letters: Any, options: dict[str, Any]) -> None:
        if not (options["ids"] or options["all"] or options["cause"]):
            raise CommandError("Say which: ids, --cause CODE, or --all.", returncode=2)
        try:
            chosen = list(letters.filter(id__in=options["ids"]) if options["ids"] else letters.filter(redriven_at__isnull=True))
        except (ValueError, ValidationError) as error:
            raise CommandError(f"That is no id of a dead letter: {error}", returncode=2) from error
        outcomes = []
        for letter in chosen:
            state = dead_letter_redrive(letter=letter, actor="command-line")
            outcomes.append({"id": str(letter.id), "state": state.value if state else "dead"})
        failed = sum(outcome["state"] == "dead" for outcome in outcomes)
        if options["json"]:
            print_json(self.stdout, {"redriven": outcomes})
        else:
            self.stdout.write(f"{len(outcomes)} redriven, of them {failed} dead again")
        if failed or (options["ids"] and len(chosen) < len(options["ids"])):
            raise CommandError("Not every one could be taken in.")


def _row(letter: DeadLetter) -> dict[str, Any]:
    return {
        "id": str(letter.id),
        "at": letter.created_at.isoformat(timespec="seconds"),
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "key": bytes(letter.key or b"").decode("utf-8", "replace")[:200],
        "cause": letter.cause,
        "reason": letter.reason,
        "redriven": letter.redriven_at is not None,
    }
