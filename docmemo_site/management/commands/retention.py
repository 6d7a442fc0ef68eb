"""`manage.py retention`: delete or erase what is kept for a time only."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from docmemo_site.retention import retention_apply
from docmemo_site.terminal import print_json, services_ready


class Command(BaseCommand):
    help = (
        "Apply the retention that the settings DOCMEMO_KEEP_* set: superseded builds, steps of finished jobs, settled events, texts of "
        "questions; ended sessions and abandoned files always. Every batch is an entry in the audit chain. Safe while workers run; "
        "run it daily."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="count what is past its time and take nothing away")
        parser.add_argument("--dead-letters", action="store_true", help="dead events and dead letters too, which else stay for ever")
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        services_ready(self.stderr.write)
        outcomes = retention_apply(dry_run=options["dry_run"], dead_letters=options["dead_letters"])
        if options["json"]:
            print_json(self.stdout, {"dry_run": options["dry_run"], "kinds": [asdict(one) for one in outcomes]})
            return
        for one in outcomes:
            kept = f"kept {one.days} days" if one.days is not None else "past its use"
            self.stdout.write(f"{one.kind:<20} {kept:<16} found {one.found:>7}  gone {one.gone:>7}")
