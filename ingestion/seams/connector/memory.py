"""The fake source: holds what a test puts there, and fails as it is told."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, ClassVar

from ingestion.seams.connector import Item, ItemAccess, ItemChanged, ItemGone, Listing, Unreachable, only_known, option


class MemoryPlace:
    """What the fake source holds: contents, rights, and the troubles it is in."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.access: dict[str, ItemAccess] = {}
        self.unready: set[str] = set()
        self.away = False
        self.shows: int | None = None  # a listing stops after so many items
        self.opened: list[str] = []

    def put(self, external_id: str, content: bytes, access: ItemAccess | None = None) -> None:
        self.contents[external_id] = content
        if access is not None:
            self.access[external_id] = access

    def remove(self, external_id: str) -> None:
        del self.contents[external_id]


class MemoryConnector:
    """The place of the name given in the options; places live as long as the process."""

    places: ClassVar[dict[str, MemoryPlace]] = {}

    def __init__(self, options: dict[str, Any], _secrets: dict[str, str]) -> None:
        only_known(options, frozenset({"place"}))
        self.place = self.places.setdefault(option(options, "place", str), MemoryPlace())

    def listing(self) -> Listing:
        if self.place.away:
            raise Unreachable("The place is away.")
        names = sorted(set(self.place.contents) - self.place.unready)
        shown = names if self.place.shows is None else names[: self.place.shows]
        complete = self.place.shows is None
        return Listing(
            tuple(self._item(name) for name in shown), complete, frozenset(self.place.unready & set(self.place.contents)),
            "" if complete else "the place stopped answering",
        )  # fmt: skip

    def _item(self, name: str) -> Item:
        content = self.place.contents[name]
        return Item(
            name, hashlib.sha256(content).hexdigest(), len(content), name.rsplit("/", 1)[-1], access=self.place.access.get(name)
        )

    @contextmanager
    def open(self, item: Item) -> Iterator[BinaryIO]:
        if self.place.away:
            raise Unreachable("The place is away.")
        if item.external_id not in self.place.contents:
            raise ItemGone(f"{item.external_id} is not there any more.")
        self.place.opened.append(item.external_id)
        yield io.BytesIO(self.place.contents[item.external_id])
        if item.external_id not in self.place.contents or self._item(item.external_id).fingerprint != item.fingerprint:
            raise ItemChanged(f"{item.external_id} changed after it was listed.")
