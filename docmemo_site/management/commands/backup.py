"""`manage.py backup FOLDER`: a consistent backup of the database, the stored files and the published audit heads."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from docmemo_site.backup.contents import BackupError, Manifest, backup_verify
from docmemo_site.backup.take import backup_take
from docmemo_site.embedded import ensure_up
from docmemo_site.embedded.errors import EmbeddedError
from docmemo_site.terminal import print_json


class Command(BaseCommand):
    help = (
        "Back up the database, the stored files that it names and the published audit heads into FOLDER, which must not be there yet. "
        "Work may go on meanwhile. The secret key and the passwords of services are not in it; the documents are: keep it as safe as them."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, metavar="FOLDER")
        parser.add_argument("--verify", action="store_true", help="check a backup instead of making one: every file is read")
        parser.add_argument("--digest", default="", metavar="SHA256", help="with --verify: the SHA-256 of the manifest, as it was told")
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        folder: Path = options["folder"].absolute()
        try:
            if options["verify"]:
                manifest = backup_verify(folder, options["digest"], self.stderr.write)
                self._tell(folder, manifest, "", options["json"])
                return
            ensure_up(services_only=True, say=self.stderr.write)
            manifest, digest = backup_take(folder, self.stderr.write)
        except (BackupError, EmbeddedError, OSError) as error:
            raise CommandError(str(error)) from error
        self._tell(folder, manifest, digest, options["json"])

    def _tell(self, folder: Path, manifest: Manifest, digest: str, as_json: bool) -> None:
        if as_json:
            about = {"folder": str(folder), "made_at": manifest.made_at, "manifest_sha256": digest or None, "whole": True}
            print_json(self.stdout, {**about, "blobs": manifest.blobs, "bytes": manifest.blob_bytes + sum(f.bytes for f in manifest.files),
                                     "rows": sum(manifest.counts.values()), "heads": [asdict(h) for h in manifest.heads]})  # fmt: skip
            return
        rows = sum(manifest.counts.values())
        self.stdout.write(f"{folder} is whole: made {manifest.made_at}, {rows} rows, {manifest.blobs} stored files.")
        for head in manifest.heads:
            self.stdout.write(f"  audit chain of {head.slug}: up to entry {head.position}, {head.hash}")
        if digest:
            self.stdout.write(f"SHA-256 of its manifest, to be kept apart from it: {digest}")
