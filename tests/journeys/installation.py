"""An installation of its own: a home, its services and workers, and the commands a person types."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"


@dataclass(frozen=True)
class Done:
    code: int
    output: str
    errors: str

    @property
    def value(self) -> Any:
        """The one JSON value of standard output."""
        return json.loads(self.output)


@dataclass(frozen=True)
class Installation:
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DOCMEMO_", "DJANGO_", "DATABASE_", "CELERY_", "KAFKA_"))}
        return {**kept, "DOCMEMO_HOME": str(self.home), "DO_NOT_TRACK": "1"}

    def start(self, *arguments: str, **settings: str) -> subprocess.Popen[str]:
        """A command on its way; `settings` are variables of its environment."""
        return subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), *arguments],
            cwd=ROOT, env={**self.environment, **settings}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *arguments: str, seconds: float = 900, **settings: str) -> Done:
        """A command to its end."""
        process = self.start(*arguments, **settings)
        output, errors = process.communicate(timeout=seconds)
        return Done(process.returncode, output, errors)
