"""The prompts, one file each, fixed texts without slots: what varies goes to the model as data. A prompt's version is its hash."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Prompt:
    name: str
    text: str

    @property
    def version(self) -> str:
        """Name and the first 12 hexadecimal digits of the text's SHA-256."""
        return f"{self.name}/{hashlib.sha256(self.text.encode('utf-8')).hexdigest()[:12]}"


@cache
def prompt(name: str) -> Prompt:
    """The prompt in `name`.txt. Raises `FileNotFoundError`."""
    return Prompt(name, files(__package__).joinpath(f"{name}.txt").read_text(encoding="utf-8").strip())
