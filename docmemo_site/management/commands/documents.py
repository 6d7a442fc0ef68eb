"""`manage.py documents`: what there is, and how it stands."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from docmemo_site.terminal import organisation_named, print_json, services_ready
from ingestion.domain.cleaning import clean_line
from ingestion.models import Document, Job


class Command(BaseCommand):
    help = "List the documents of an organisation with their live version, pages, and the state of the newest job."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--corpus", metavar="SLUG")
        parser.add_argument("--organisation", metavar="SLUG")
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        services_ready(self.stderr.write)
        organisation = organisation_named(options["organisation"])
        documents = Document.objects.filter(organisation=organisation).select_related("corpus", "live_version", "live_build")
        if options["corpus"]:
            documents = documents.filter(corpus__slug=options["corpus"])
        rows = [_row(document) for document in documents.order_by("corpus__slug", "external_id")]
        if options["json"]:
            print_json(self.stdout, {"documents": rows})
            return
        for row in rows:
            self.stdout.write(
                f"{row['document']}  {row['corpus']:<16} v{row['version'] or '-':<3} {row['pages'] or 0:>5} pages  "
                f"{row['state']:<12} {clean_line(row['external_id'], 1000)}  {row['reason']}".rstrip()
            )
        self.stdout.write(f"{len(rows)} documents")


def _row(document: Document) -> dict[str, Any]:
    job = Job.objects.filter(document=document).order_by("-created_at").first()
    state = "deleted" if document.deleted_at else job.state if job else "empty"
    return {
        "document": str(document.id),
        "corpus": document.corpus.slug,
        "external_id": document.external_id,
        "title": document.title,
        "version": document.live_version.number if document.live_version else None,
        "pages": document.live_build.page_count if document.live_build else None,
        "state": state,
        "reason": f"{job.reason_code}: {job.reason}" if job and job.reason_code else "",
    }
