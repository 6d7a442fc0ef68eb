"""The prompts, one file each, fixed texts without slots: what varies goes to the model as data. A prompt's version is its hash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
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


RUN = 6  # words in a row that nobody writes by chance
FIELDS = ("useful_pages", "irrelevant_pages", "refined_query", "crop_requests", "last_round", "query_of_this_round")
_WORD = re.compile(r"[^\W_]+")


def repeats_instructions(text: str, quotes: Iterable[str] = ()) -> bool:
    """Whether the text repeats a prompt (`RUN` words in a row) or names a field of the reply's schema.

    What a document itself says, as its `quotes` show, is the document's.
    """
    words, held = _words(text), " ".join(f" {_words(quote)} " for quote in quotes)
    told = any(run in _runs() and f" {run} " not in held for run in _windows(words))
    return told or any(name in text and name.replace("_", " ") not in held for name in FIELDS)


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


def _windows(words: str) -> list[str]:
    parts = words.split()
    return [" ".join(parts[at : at + RUN]) for at in range(len(parts) - RUN + 1)]


@cache
def _runs() -> frozenset[str]:
    return frozenset(run for name in ("read", "rerank") for run in _windows(_words(prompt(name).text)))
