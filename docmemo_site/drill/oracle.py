"""What must be true at the end, worked out from what was sent and from nothing else: the highest revision of a document wins.

Pure Python; it knows no table. In the order of revisions: content makes the document live with these pages, a deletion ends it,
content after a deletion begins a new life, and an access list is in force until another one comes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from docmemo_site.drill.generator import DELETED, Access, Sent


@dataclass(frozen=True)
class Expected:
    """How one document must stand. `sha256` None: nothing of it may be live."""

    external_id: str
    revision: int
    sha256: str | None
    pages: tuple[str, ...]
    deleted: bool
    access: Access


def expectations(sent: Iterable[Sent]) -> dict[str, Expected]:
    """One for each document that anything was sent of."""
    by_document: dict[str, dict[str, Sent]] = defaultdict(dict)
    for event in sent:
        by_document[event.external_id][event.id] = event
    return {name: _replay(name, sorted(events.values(), key=lambda e: e.revision)) for name, events in by_document.items()}


def _replay(name: str, events: list[Sent]) -> Expected:
    sha256, pages, deleted, access = None, (), False, Access(None)
    for event in events:
        if event.type == DELETED:
            sha256, pages, deleted = None, (), True
            continue
        if event.sha256 is not None:
            sha256, pages, deleted = event.sha256, event.pages, False
        if event.access is not None:
            access = event.access
    return Expected(name, events[-1].revision, sha256, pages, deleted, access)
