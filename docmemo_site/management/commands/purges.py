"""`manage.py purges`: the receipts of what was forgotten, and whether they are true."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from docmemo_site.terminal import organisation_named, print_json, services_ready
from ingestion.models import Purge
from ingestion.services.purge import document_remains


class Command(BaseCommand):
    help = "List the receipts of what was forgotten of deleted documents; --verify counts what is still held. Exit 1 if anything is."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--document", metavar="ID", type=UUID, help="only this document")
        parser.add_argument("--organisation", metavar="SLUG")
        parser.add_argument("--verify", action="store_true", help="look at every table, file and store again")
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        services_ready(self.stderr.write)
        purges = Purge.objects.filter(document__organisation=organisation_named(options["organisation"]))
        if options["document"]:
            purges = purges.filter(document_id=options["document"])
        rows = [_row(p, options["verify"]) for p in purges.select_related("document__corpus").order_by("requested_at")]
        if options["json"]:
            print_json(self.stdout, {"purges": rows})
        else:
            for row in rows:
                kinds = ", ".join(f"{n} {kind}" for kind, n in row["removed"].items() if n) or "nothing"
                held = ", ".join(f"{n} {kind}" for kind, n in (row["remains"] or {}).items())
                self.stdout.write(f"{row['document']}  {row['state']:<9} removed {kinds}" + (f"; STILL HELD {held}" if held else ""))
            self.stdout.write(f"{len(rows)} purges")
        if any(row["remains"] for row in rows):
            raise CommandError("Something of a deleted document is still held.")


def _row(purge: Purge, verify: bool) -> dict[str, Any]:
    state = "confirmed" if purge.confirmed_at else "purged" if purge.purged_at else "waiting"
    return {
        "document": str(purge.document_id),
        "corpus": purge.document.corpus.slug,
        "external_id": purge.document.external_id,
        "through_revision": purge.through_revision,
        "requested_at": purge.requested_at.isoformat(),
        "state": state,
        "removed": purge.removed,
        "remains": document_remains(purge.document) if verify else None,
    }
