"""Where documents come from: a place outside that can say what it holds now and hand each thing over.

A connector remembers nothing. It answers two questions: what is there now (`listing`), and what are the bytes of this one
(`open`). What changed since the last time is worked out by `ingestion.services.source_sync`, in the same way for every source.

The one promise that all else rests on: **what a connector could not see is never told as gone.** A place that does not answer
raises `Unreachable`; a listing that stopped half-way, or left a part out that it may not see, comes back with `complete=False`
and is read as "these are there", never as "the others are not". A complete listing of nothing means that the place is empty.

A new connector is one folder (or file) here that passes `tests/contracts/test_connector.py`, and one line in the setting
CONNECTORS; see ops/sources.md.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol, TypeVar

from django.conf import settings
from django.utils.module_loading import import_string

MAX_EXTERNAL_ID = 900  # characters; the source's own name is put before it

Option = TypeVar("Option")


class ConnectorError(Exception):
    """A connector could not do what was asked; `code` is for programs, the sentence for people, without secrets."""

    code = "connector_failed"


class Unreachable(ConnectorError):
    """The place does not answer, or does not let us in: nothing is known of what it holds."""

    code = "source_unreachable"


class Misconfigured(ConnectorError):
    """The options of the source cannot be used: an option is missing or wrong, a secret is not there."""

    code = "source_misconfigured"


class ItemGone(ConnectorError):
    """The item was listed and is not there any more; only a complete listing tells whether it is gone."""

    code = "item_gone"


class ItemChanged(ConnectorError):
    """The item is not the one that was listed any more; the next listing tells what it is now."""

    code = "item_changed"


@dataclass(frozen=True, slots=True)
class ItemAccess:
    """Who may read an item as its source knows it: names of people and groups, always the whole list.

    `allow` None means that the item does not narrow its corpus; an empty one lets nobody in, which is what a connector says of an
    item whose rights it could not find out.
    """

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """A document as its source lists it.

    `external_id` is the source's own name for it, the same for as long as it is the same document. `fingerprint` changes whenever
    the bytes do; it may change when they do not. `access` is None where the source knows nothing of rights.
    """

    external_id: str
    fingerprint: str
    bytes: int
    file_name: str
    title: str = ""
    access: ItemAccess | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """What is there now.

    `unready` are ids of items that are there and cannot be taken yet (still being written, withheld for now): they are neither
    taken in nor gone. `complete` False means that there may be more, with `reason` for people.
    """

    items: tuple[Item, ...]
    complete: bool = True
    unready: frozenset[str] = frozenset()
    reason: str = ""


class Connector(Protocol):
    """A place that documents come from."""

    def listing(self) -> Listing:
        """What is there now, each id once. Raises `Unreachable` where nothing can be said, `Misconfigured` for wrong options."""

    def open(self, item: Item) -> AbstractContextManager[BinaryIO]:
        """A stream of exactly the bytes that were listed.

        Raises `ItemGone` or `ItemChanged`, on entering or at the latest on leaving the `with` block, when they are not to be had:
        what was read is used only after the block ended without one. Raises `Unreachable` as a listing does.
        """


def option(options: dict[str, Any], name: str, kind: Callable[[Any], Option] | type[Option], default: Option | None = None) -> Option:
    """The option of this name as `kind`; without `default` it has to be there. Raises `Misconfigured`."""
    value = options.get(name)
    if value is None:
        if default is None:
            raise Misconfigured(f"The option {name} is missing.")
        return default
    if not isinstance(kind, type):
        return kind(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise Misconfigured(f"The option {name} must be of the kind {kind.__name__}.")
    return value


def only_known(options: dict[str, Any], known: frozenset[str]) -> None:
    """Refuse options that nothing reads: a misspelt one would be silently without effect. Raises `Misconfigured`."""
    unknown = sorted(set(options) - known)
    if unknown:
        raise Misconfigured(f"Unknown options: {', '.join(unknown)}. Known are {', '.join(sorted(known))}.")


def connector_for(kind: str, options: dict[str, Any], secrets: dict[str, str]) -> Connector:
    """The adapter that the setting CONNECTORS names for `kind`, with its options; secrets come beside them. Raises `Misconfigured`."""
    backend = settings.CONNECTORS.get(kind)
    if backend is None:
        raise Misconfigured(f"There is no connector {kind}. Known are {', '.join(sorted(settings.CONNECTORS))}.")
    return import_string(backend)(options, secrets)
