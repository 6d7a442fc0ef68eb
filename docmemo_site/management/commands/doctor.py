"""`manage.py doctor`: what is configured, reachable and missing, each with its mend."""

from __future__ import annotations

import json
import logging
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from docmemo_site.doctor import Finding, examine
from docmemo_site.settings import env


class Command(BaseCommand):
    """Looks at everything and changes nothing. Exit status 1 when something that is needed is broken."""

    help = "Say what is configured, reachable and missing, each with its mend. Starts nothing."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON value")
        parser.add_argument("--settings-list", action="store_true", help="list every setting and its meaning")

    def handle(self, *_args: Any, **options: Any) -> None:
        if options["settings_list"]:
            self.stdout.write(_settings(as_json=options["json"]))
            return
        # Clients report every failed attempt by themselves; the findings say it once.
        logging.disable(logging.ERROR)
        found = examine()
        broken = [one for one in found if one.needed and one.state != "ok"]
        if options["json"]:
            self.stdout.write(json.dumps({"ok": not broken, "findings": [asdict(one) for one in found]}, indent=1))
        else:
            self.stdout.write("\n".join(_line(one) for one in found))
            self.stdout.write(f"{len(broken)} needed things are broken." if broken else "All that is needed is well.")
        if broken:
            sys.exit(1)


def _line(one: Finding) -> str:
    optional = "" if one.needed or one.state == "ok" else " (optional)"
    mend = f"\n{'':<13}mend: {one.mend}" if one.mend and one.state != "ok" else ""
    return f"{one.state:<12} {one.name}: {one.detail}{optional}{mend}"


def _settings(*, as_json: bool) -> str:
    """Every declared setting; values that are secret are not shown, only whether they are set."""
    rows = []
    for setting in env.SETTINGS:
        value = ("set" if env.is_set(setting.name) else "not set") if setting.secret else str(env.read(setting.name))
        rows.append({"name": setting.name, "kind": setting.kind, "value": value, "meaning": setting.meaning})
    if as_json:
        return json.dumps(rows, indent=1)
    return "\n".join(f"{row['name']} = {row['value']}\n    {row['meaning']}" for row in rows)
