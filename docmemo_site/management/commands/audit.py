"""`manage.py audit verify`: walk the audit chain and compare it with the heads that were published."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from docmemo_site.terminal import organisation_named, print_json, services_ready
from ingestion.models import AuditEntry, Organisation
from ingestion.seams import load
from ingestion.seams.event_bus import BusUnavailable
from ingestion.services.audit import HEADS_TOPIC, audit_verify


class Command(BaseCommand):
    help = (
        "Verify the audit chain of an organisation: every link, every payload, and the heads that were published to the file and "
        "to the topic. Exit 0 only if the chain is whole."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["verify"])
        parser.add_argument("--organisation", metavar="SLUG")
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        services_ready(self.stderr.write)
        organisation = organisation_named(options["organisation"])
        findings = audit_verify(organisation, self._topic_heads(organisation))
        entries = AuditEntry.objects.filter(organisation=organisation).count()
        if options["json"]:
            print_json(
                self.stdout,
                {"organisation": organisation.slug, "entries": entries, "whole": not findings, "findings": [asdict(f) for f in findings]},
            )
        elif not findings:
            self.stdout.write(f"The chain of {organisation.slug} is whole: {entries} entries.")
        else:
            first = findings[0]
            self.stdout.write(f"The first broken link is entry {first.position}: {first.code}: {first.message}")
            for finding in findings[1:20]:
                self.stdout.write(f"  also entry {finding.position}: {finding.code}: {finding.message}")
        if findings:
            sys.exit(1)

    def _topic_heads(self, organisation: Organisation) -> dict[int, str]:
        """Heads that the broker holds; the embedded broker forgets at a restart, so none is no fault."""
        heads: dict[int, str] = {}
        try:
            for message in load("event_bus").read_all(HEADS_TOPIC):
                record = json.loads(message.value)
                if record["organisation"] == str(organisation.id):
                    heads[int(record["position"])] = record["hash"]
        except BusUnavailable as error:
            self.stderr.write(f"The topic of heads could not be read ({error}); the file alone was compared.")
        return heads
