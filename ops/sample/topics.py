"""What the documents speak of; the words stand in `topics.txt`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Topic:
    """`things` are plural, `acts` go without "to", `who` looks after it."""

    name: str
    things: tuple[str, ...]
    acts: tuple[str, ...]
    who: str


def _read() -> dict[str, dict[str, Topic]]:
    groups: dict[str, dict[str, Topic]] = {}
    group: dict[str, Topic] = {}
    for line in Path(__file__).with_name("topics.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            group = groups.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            name, things, acts, who = (cell.strip() for cell in line.split("|"))
            group[name] = Topic(name, tuple(things.split(", ")), tuple(acts.split(", ")), who)
    return groups


_GROUPS = _read()
HANDBOOK, MANUAL, REPORT = _GROUPS["handbook"], _GROUPS["manual"], _GROUPS["report"]
TRAVEL, CONTRACT, INCIDENT = _GROUPS["travel"], _GROUPS["contract"], _GROUPS["incident"]
