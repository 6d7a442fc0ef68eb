"""`manage.py up`: bring the embedded services and the application's processes up."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from docmemo_site.embedded import ensure_up
from docmemo_site.embedded.control import UP_SECONDS, Report
from docmemo_site.embedded.errors import EmbeddedError

SENTENCES = {
    "external": "Services of your own are configured: nothing to start here. Run the workers yourself.",
    "up": "Everything is up.",
    "services": "The services are up; the application's processes are not (manage.py up starts them).",
}


class Command(BaseCommand):
    """Starts what is down, waits until it is ready and says what runs where."""

    help = "Start the embedded PostgreSQL, Valkey and Kafka-protocol broker and the application's workers."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--services-only", action="store_true", help="start only the three services")
        parser.add_argument("--timeout", type=float, default=UP_SECONDS, help="seconds to wait at most")
        parser.add_argument("--json", action="store_true", help="print one JSON value")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            report = ensure_up(
                services_only=options["services_only"],
                seconds=options["timeout"],
                fresh=True,
                say=self.stderr.write,
            )
        except EmbeddedError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(asdict(report), indent=1))
        else:
            self.stdout.write(_table(report))


def _table(report: Report) -> str:
    """What runs where, one line each."""
    lines = [SENTENCES.get(report.state, report.state)]
    for row in report.processes:
        place = row["address"] or ""
        lines.append(f"  {row['name']:<10} {row['state']:<11} pid {row['pid']!s:<8} {place:<16} {row['log']}")
    return "\n".join(lines)
