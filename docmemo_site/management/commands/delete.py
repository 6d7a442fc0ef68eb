"""`manage.py delete`: take documents back; nothing of them is live any more, at once, and all that was made of them is purged."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from docmemo_site.terminal import organisation_named, print_json, services_ready, wait_for_submissions
from ingestion.models import Document
from ingestion.services.documents import document_withdraw


class Command(BaseCommand):
    help = "Delete documents of a corpus, by id or by external id. Waits until it is in effect; `purges --verify` proves the rest."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("documents", nargs="+", metavar="DOCUMENT", help="id or external id")
        parser.add_argument("--corpus", required=True, metavar="SLUG")
        parser.add_argument("--organisation", metavar="SLUG")
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        services_ready(self.stderr.write)
        held = Document.objects.filter(
            organisation=organisation_named(options["organisation"]), corpus__slug=options["corpus"], deleted_at__isnull=True
        )
        chosen = [_chosen(held, text) for text in options["documents"]]
        names = {document_withdraw(actor="command-line", document=document, source="command-line"): str(document) for document in chosen}
        ended = wait_for_submissions(names, seconds=300)
        if options["json"]:
            print_json(self.stdout, {"deleted": [{"document": p.document, "state": p.state, "reason": p.reason} for p in ended]})
        if not all(progress.ended for progress in ended):
            raise CommandError("Not every deletion is in effect yet.")


def _chosen(held: Any, text: str) -> Document:
    try:
        found = held.filter(id=UUID(text)).first()
    except ValueError:
        found = held.filter(external_id=text).first()
    if found is None:
        raise CommandError(f"There is no document {text} in this corpus.", returncode=2)
    return found
