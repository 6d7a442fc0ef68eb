"""`manage.py purge DOCUMENT`: delete a withdrawn document for good, and prove it."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from docmemo_site.terminal import print_json, services_ready
from ingestion.domain.errors import IngestionError
from ingestion.models import Document
from ingestion.services.purge import document_purge, document_remains


class Command(BaseCommand):
    help = (
        "Delete a withdrawn document for good: versions, builds, pages, pictures, vectors, answers that cite it, texts of runs that read "
        "it, and the texts in the audit chain. Then count what still rests on it. Exit 0 only if that is nothing. Backups keep it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("document", type=UUID, metavar="DOCUMENT", help="its id, as manage.py documents shows it")
        parser.add_argument("--count", action="store_true", help="only count what rests on it, and delete nothing")
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        services_ready(self.stderr.write)
        document = Document.objects.filter(id=options["document"]).first()
        if document is None:
            raise CommandError("There is no such document.")
        removed: dict[str, int] = {}
        if not options["count"]:
            try:
                removed = document_purge(document=document, actor="command-line")
            except IngestionError as error:
                raise CommandError(error.message) from error
        left = document_remains(document)
        if options["json"]:
            print_json(self.stdout, {"document": str(document.id), "removed": removed, "left": left})
        else:
            for verb, counts in (("removed", removed), ("left", left)):
                for name, count in counts.items():
                    self.stdout.write(f"{verb:<8} {count:>7}  {name}")
            self.stdout.write("Nothing rests on the document any more." if not left else "The document is not gone.")
        if left and not options["count"]:
            raise CommandError("Something still rests on the document; run it again once no job or question is at it.")
