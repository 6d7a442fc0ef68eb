"""`manage.py fault_drill`: kill real processes under a seeded stream of events, then compare the end with what was sent."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from docmemo_site.drill.run import add_arguments
from docmemo_site.settings import env


class Command(BaseCommand):
    help = "Run a fault drill in a home of its own: events, faults, and a report of what was lost, doubled, stuck or orphaned."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_arguments(parser)

    def handle(self, *_args: Any, **options: Any) -> None:
        # A process of its own: the settings of this one name another home already.
        if options["home"]:
            options["home"] = options["home"].resolve()
        given = [f"--{name}={options[name]}" for name in ("documents", "faults", "seed", "bus")]
        given += [f"--{name}={options[name]}" for name in ("home", "without") if options[name]]
        given += ["--json"] * bool(options["json"])
        sys.stdout.flush()
        sys.stderr.flush()
        os.chdir(env.REPOSITORY)
        os.execv(sys.executable, [sys.executable, "-m", "docmemo_site.drill.run", *given])
