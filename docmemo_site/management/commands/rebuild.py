"""`manage.py rebuild`: build the index anew where it was made by an older parser, model or setting."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from docmemo_site.terminal import organisation_named, print_json, services_ready
from ingestion.models import Document
from ingestion.services.pipeline import pipeline_fingerprint
from ingestion.services.rebuild import document_rebuild


class Command(BaseCommand):
    help = "Build live documents anew whose index was made by another pipeline; each stays answerable meanwhile, and workers do it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--corpus", metavar="SLUG")
        parser.add_argument("--organisation", metavar="SLUG")
        parser.add_argument("--dry-run", action="store_true", help="say how many, and start nothing")
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        services_ready(self.stderr.write)
        live = Document.objects.filter(organisation=organisation_named(options["organisation"]), live_build__isnull=False)
        if options["corpus"]:
            live = live.filter(corpus__slug=options["corpus"])
        stale = live.exclude(live_build__fingerprint=pipeline_fingerprint()).order_by("id")
        count, started = stale.count(), 0
        if not options["dry_run"]:
            started = sum(document_rebuild(document=document, actor="command-line") is not None for document in stale.iterator())
        if options["json"]:
            print_json(self.stdout, {"live": live.count(), "stale": count, "started": started})
        else:
            self.stdout.write(f"{count} documents were built by another pipeline; {started} builds started")
