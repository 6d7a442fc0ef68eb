"""`manage.py directory sync`: apply what was read from a directory of people and groups."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from docmemo_site.terminal import organisation_named, print_json, services_ready
from ingestion.services.directory import DirectoryRefused, SyncReport, directory_sync


class Command(BaseCommand):
    help = (
        "Apply a file of directory events (ops/directory.md): whole membership lists of groups, people who came or went. "
        "Exit 0 when every event was understood, 1 when some were not; those that were are applied all the same."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["sync"])
        parser.add_argument("file", metavar="FILE", type=Path)
        parser.add_argument("--organisation", metavar="SLUG")
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        content = content_of(options["file"])
        services_ready(self.stderr.write)
        try:
            report = directory_sync(organisation=organisation_named(options["organisation"]), content=content, actor="directory")
        except DirectoryRefused as refused:
            raise CommandError(f"Nothing was changed. {refused.message}", returncode=2) from refused
        if options["json"]:
            print_json(self.stdout, asdict(report))
        else:
            self.stdout.write(report_text(report))
        if report.faults:
            raise CommandError(f"{len(report.faults)} events were not applied.")


def content_of(path: Path) -> Any:
    """What the file holds. Raises `CommandError`."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"{path} cannot be read as JSON ({type(error).__name__}). Nothing was changed.", returncode=2) from error


def report_text(report: SyncReport) -> str:
    """The report for a person at a terminal."""
    lines = [
        f"{report.applied} events applied, {report.stale} older than what is known; "
        f"{report.started} memberships began, {report.ended} ended."
    ]
    if report.unavailable:
        lines.append(f"Not readable, left to lapse by their age: {', '.join(sorted(report.unavailable))}.")
    if report.unknown_members:
        lines.append(f"{report.unknown_members} members are not known here and were left out.")
    lines += [f"Event {number} was not applied: {code}" for number, code in report.faults]
    return "\n".join(lines)
