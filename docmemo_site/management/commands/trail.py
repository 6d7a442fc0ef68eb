"""`manage.py trail`: the whole evidence trail of a run."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from docmemo_site.terminal import person_named, print_json, services_ready
from qa.models import Run
from qa.selectors.record import run_record


class Command(BaseCommand):
    help = (
        "Show what was recorded of a run: rights, seed and draws, each round's candidates and verdicts, checks, cost, audit entries. "
        "Texts of pages and people are shown only with --as an auditor whose own tags cover every page of the run."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", metavar="RUN", help="the id that ask printed")
        parser.add_argument("--as", dest="user", metavar="USER", help="the auditor who looks")
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            run_id = UUID(options["run"])
        except ValueError as error:
            raise CommandError(f"{options['run']} is no run's id.", returncode=2) from error
        services_ready(self.stderr.write)
        run = Run.objects.filter(id=run_id).select_related("question__asker").first()
        if run is None:
            raise CommandError("There is no such run.")
        record = run_record(run, person_named(options["user"]) if options["user"] else None)
        if options["json"]:
            print_json(self.stdout, record)
        else:
            self.stdout.write(record_text(record))


def record_text(record: dict[str, Any]) -> str:
    """The record for a person at a terminal: the five best candidates of each round."""
    lines = [
        f"run {record['run']}: {record['verdict'] or record['state']} ({record['reason']})",
        f"asked by {record['asker']} in {record['corpus']} at {record['asked_at']} with {', '.join(record['rights']['tags'])}",
        f"question: {record['question']}",
        f"seed {record['seed']}, restarts {record['restarts']}, cost {record['cost']}",
    ]
    for entry in record["rounds"]:
        kept = entry["record"]
        lines.append(f"round {entry['number']}: {kept['status']}, lambda {kept['lambda']}, pages shown {kept.get('page_numbers')}")
        for c in kept["candidates"][:5]:
            lines.append(
                f"   page {c['number']:>4} similarity {c['similarity']:.3f} draw {c['draw']:.3f} score {c['score']:.3f} "
                f"Beta({c['alpha']:.2f}, {c['beta']:.2f}) {c['place']} {c['verdict']}"
            )
    lines += [f"check {c['name']}: {'passed' if c['passed'] else 'FAILED'} {c.get('detail', '')}".rstrip() for c in record["checks"]]
    for c in record["citations"]:
        lines.append(f"cited: page {c['page']} ({c['label']}), {c['start']}-{c['end']}, sha256 {c['quote_sha256'][:16]}")
    lines += [f"audit entry {e['position']}: {e['act']} {e['hash'][:16]}" for e in record["audit"]]
    return "\n".join(lines)
