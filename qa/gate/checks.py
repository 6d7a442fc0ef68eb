"""What the gate looked at, one line each, for the trail."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """`name` of the check, whether it held, and facts about it: ids, numbers and codes, never text of a page."""

    name: str
    passed: bool
    detail: str = ""
