"""`manage.py restore FOLDER`: bring a backup back into an empty installation."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from docmemo_site.backup.contents import BackupError
from docmemo_site.backup.restore import backup_restore
from docmemo_site.embedded import ensure_up
from docmemo_site.embedded.errors import EmbeddedError
from docmemo_site.terminal import print_json

NEXT = (
    "manage.py up (with services of your own: start the workers); work that was open when the backup was made goes on by itself",
    "events that arrived after the backup are not in it: with a Kafka of your own set the group docmemo-ingestion back to {made_at} "
    "(kafka-consumer-groups --reset-offsets --to-datetime), else have their producers send them again; what is here already has no effect",
    "documents that were handed in through the site or by ingest after the backup have to be handed in again",
    "everybody signs in anew: sessions are not part of a backup",
)


class Command(BaseCommand):
    help = "Restore a backup into an empty installation: verified before, counted after, its audit chain walked at the end."
    # The checks look at a database that is not there yet.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, metavar="FOLDER")
        parser.add_argument("--digest", default="", metavar="SHA256", help="the SHA-256 of the manifest that backup told")
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        folder: Path = options["folder"].absolute()
        try:
            ensure_up(services_only=True, say=self.stderr.write)
            done = backup_restore(folder, options["digest"], self.stderr.write)
        except (BackupError, EmbeddedError, OSError) as error:
            raise CommandError(str(error)) from error
        steps = [line.format(made_at=done.manifest.made_at) for line in NEXT]
        if options["json"]:
            print_json(
                self.stdout,
                {"made_at": done.manifest.made_at, "rows": done.rows, "blobs": done.manifest.blobs, "audit_entries": done.entries,
                 "audit_whole": True, "migrated": done.migrated, "next": steps},
            )  # fmt: skip
            return
        self.stdout.write(
            f"Restored the backup of {done.manifest.made_at}: {done.rows} rows, {done.manifest.blobs} stored files; "
            f"the audit chain is whole, {done.entries} entries."
        )
        self.stdout.write("Next:\n" + "\n".join(f"  - {step}" for step in steps))
