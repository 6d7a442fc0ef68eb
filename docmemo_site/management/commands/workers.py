"""`manage.py workers`: which workers the settings ask for, with their commands, and which queues are listened to."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from docmemo_site.settings.work import workers
from docmemo_site.terminal import print_json
from ingestion.selectors.queues import QueueRow
from qa.selectors.queue import all_queues


class Command(BaseCommand):
    help = "Show each queue's work and who listens, and the command of each worker. Status 1 when work has no worker."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--commands", action="store_true", help="only the commands; asks no database")
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        commands = {
            one.name: shlex.join([*(f"{name}={value}" for name, value in one.environment()), *one.argv("python")]) for one in workers()
        }
        rows = [] if options["commands"] else all_queues()
        if options["json"]:
            print_json(self.stdout, {"queues": [_row(row) for row in rows], "commands": commands})
        else:
            for row in rows:
                self.stdout.write(
                    f"{row.name:<9} {row.waiting} waiting, {row.running} running, {row.workers} workers with {row.processes} processes"
                )
            for sentence in (row.statement for row in rows if row.unattended):
                self.stdout.write(sentence)
            for command in commands.values():
                self.stdout.write(command)
        if any(row.unattended for row in rows):
            raise SystemExit(1)


def _row(row: QueueRow) -> dict[str, Any]:
    return {
        "name": row.name, "waiting": row.waiting, "oldest_seconds": round(row.oldest_seconds), "running": row.running,
        "workers": row.workers, "processes": row.processes, "statement": row.statement,
    }  # fmt: skip
