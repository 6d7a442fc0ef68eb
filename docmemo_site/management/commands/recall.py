"""`manage.py recall`: every answer that relied on a document."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from docmemo_site.terminal import person_named, print_json, services_ready
from ingestion.models import Document
from qa.selectors.recall import Recalled, answers_relying_on, recall_record, recallable_document


class Command(BaseCommand):
    help = (
        "List every run that was shown a page of a document: ids, askers, times, whether the answer cites it, and how what was read "
        "stands now. Questions and answers are not shown."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("document", metavar="DOCUMENT", help="its id; documents lists them")
        parser.add_argument("--as", dest="user", metavar="USER", help="who asks: an auditor, or who manages the corpus")
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            document_id = UUID(options["document"])
        except ValueError as error:
            raise CommandError(f"{options['document']} is no document's id.", returncode=2) from error
        services_ready(self.stderr.write)
        if options["user"]:
            document = recallable_document(person_named(options["user"]), document_id)
        else:
            document = Document.objects.filter(id=document_id).select_related("corpus").first()
        if document is None:
            raise CommandError("There is no such document, or it is not this person's to ask about.")
        found = answers_relying_on(document)
        if options["json"]:
            print_json(self.stdout, recall_record(document, found))
        else:
            self.stdout.write("\n".join([*map(recalled_text, found), f"{len(found)} runs were shown this document"]))


def recalled_text(one: Recalled) -> str:
    """A line for a person at a terminal."""
    cites = {True: "cites it", False: "does not cite it", None: "citations no longer held"}[one.relied]
    version = f"version {one.version}, " if one.version else ""
    withdrawn = ", answer withdrawn" if one.answer_withdrawn else ""
    return f"{one.run_id}  {one.asked_at:%Y-%m-%d %H:%M:%S}  {one.asker:<16} {one.verdict}: {cites}; {version}{one.standing}{withdrawn}"
