"""`manage.py ingest`: take in files and folders, and wait until each is published or has said why not."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from docmemo_site.intake import corpus_ensure, files_of, take_in
from docmemo_site.terminal import organisation_named, print_json, services_ready


class Command(BaseCommand):
    help = (
        "Take in PDF files and folders of them, by the same way as every other document (event, outbox, broker, inbox, job), "
        "and wait with progress. Exit 0 only if every document was published."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a PDF, or a folder of PDFs")
        parser.add_argument("--corpus", required=True, metavar="SLUG", help="made when it is missing, with --allow as its ceiling")
        parser.add_argument("--allow", action="append", default=[], metavar="TAG", help="a group or user:NAME that may read; repeatable")
        parser.add_argument("--deny", action="append", default=[], metavar="TAG", help="a group or user:NAME that may not; repeatable")
        parser.add_argument("--organisation", metavar="SLUG", help="needed only where there are several")
        parser.add_argument("--timeout", type=float, default=7200.0, help="seconds to wait at most (default 7200)")
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            files, left_out = files_of(options["paths"])
        except ValueError as error:
            raise CommandError(str(error), returncode=2) from error
        if not files:
            raise CommandError("There is no PDF in what you gave.", returncode=2)
        services_ready(self.stderr.write)
        organisation = organisation_named(options["organisation"], create=True)
        corpus, made = corpus_ensure(organisation, options["corpus"], options["allow"], actor="command-line")
        if made and not options["allow"]:
            self.stderr.write(f"The corpus {corpus.slug} is new and has no allow list: nobody can read in it yet (--allow TAG).")
        for path in left_out:
            self.stderr.write(f"left out, since it is not named .pdf: {path}")
        taken = take_in(
            files, corpus, allow=options["allow"], deny=options["deny"], actor="command-line", seconds=options["timeout"]
        )
        if options["json"]:
            print_json(self.stdout, {"documents": [asdict(one) for one in taken]})
        else:
            for one in taken:
                self.stdout.write(f"{one.state:<12} {one.pages or 0:>5} pages  {one.path}  {one.reason}".rstrip())
        if any(one.state != "published" for one in taken):
            sys.exit(1)
