"""`manage.py event_schemas`: the JSON Schemas of the events, written from the types that check them."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from ingestion.domain.events import CorpusEvent, DocumentEvent, OutcomeEvent

VERSION = "v1"
MODELS = {"document": DocumentEvent, "corpus": CorpusEvent, "outcome": OutcomeEvent}


def schemas() -> dict[str, str]:
    """File name -> content, of every schema of the current version."""
    return {
        f"{name}.schema.json": json.dumps(
            {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"docmemo:{VERSION}:{name}", **model.model_json_schema()},
            indent=2,
        )
        + "\n"
        for name, model in MODELS.items()
    }


class Command(BaseCommand):
    help = "Write the JSON Schemas of the events into a folder, or --check that those in the repository are current."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", nargs="?", type=Path, default=settings.BASE_DIR / "ops" / "events" / VERSION)
        parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file differs")

    def handle(self, *_args: Any, **options: Any) -> None:
        for name, content in schemas().items():
            path = options["folder"] / name
            if options["check"]:
                if not path.exists() or path.read_text(encoding="utf-8") != content:
                    raise CommandError(f"{path} is not current: run manage.py event_schemas")
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
            self.stdout.write(str(path))
