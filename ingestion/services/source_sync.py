"""Bringing a source's documents up to date: a listing compared with what was taken in last, the difference sent as events.

    listed, unknown or with another fingerprint   the bytes are handed in (document.updated)
    listed, same fingerprint, another list         document.access_changed
    known, lacking in a COMPLETE listing           document.deleted
    anything else                                  nothing

An event and the row that remembers it are one transaction, so a crash loses neither and doubles neither: the next sync goes on
where this one stopped. One sync of a source at a time holds a lease; whoever lost it writes nothing more. Many deletions at once
look like a disk that is not mounted: they are held until a person confirms them.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from ingestion.domain.errors import IngestionError, failure
from ingestion.models import Blob, SourceConfiguration, SourceItem
from ingestion.models.source import PUSH
from ingestion.seams.connector import Connector, ConnectorError, Item, ItemChanged, ItemGone, Listing
from ingestion.services.documents import blob_store, document_access_send, document_deletion_send, document_submit
from ingestion.services.sources import connector_of, document_id_of

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=60)  # extended while the sync lives; after a kill, another may begin when it has run out
HELD_FROM = 20  # deletions of one sync, above which they are held when they are more than half of what is known
Say = Callable[[str], Any]


class LeaseLost(Exception):
    """Another sync of the same source has begun."""


@dataclass(slots=True)
class SyncOutcome:
    """What a sync came to.

    `state` is complete, partial (the listing was, or it was stopped), deletions_held, busy (another sync is under way or there is
    nothing to ask), or the code of a `ConnectorError`. `events` are those sent, in order.
    """

    state: str = "complete"
    message: str = ""
    listed: int = 0
    unready: int = 0
    submitted: int = 0
    access_changed: int = 0
    deleted: int = 0
    held: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    postponed: int = 0  # gone or changed since the listing; the next sync tells
    events: list[UUID] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Claim:
    configuration: SourceConfiguration
    actor: str

    def hold(self) -> None:
        """Make sure that the lease is ours, and extend it; in a transaction nobody takes it over before the end. Raises `LeaseLost`."""
        held = SourceConfiguration.objects.filter(id=self.configuration.id, fencing_token=self.configuration.fencing_token)
        if not held.update(lease_until=timezone.now() + LEASE):
            raise LeaseLost


def source_sync(
    *,
    configuration: SourceConfiguration,
    actor: str = "watcher",
    confirm_deletions: bool = False,
    stop: Callable[[], bool] = lambda: False,
    say: Say = lambda _line: None,
) -> SyncOutcome:
    """Bring the documents of one source up to date. What the source does wrong is the outcome's state, never an exception."""
    claim = _claim(configuration, actor)
    if claim is None:
        return SyncOutcome("busy", "Another sync of this source is under way, or it is not one to be asked.")
    outcome = SyncOutcome()
    finished = False
    try:
        with _lease_kept(claim):
            _sync(claim, outcome, confirm_deletions, stop, say)
        finished = True
    except ConnectorError as error:
        outcome.state, outcome.message, finished = error.code, str(error), True
    except LeaseLost:
        outcome.state, outcome.message, finished = "busy", "Another sync of this source took over.", True
    finally:
        if not finished:
            outcome.state, outcome.message = "broke", "The sync broke off; the log says why."
        _release(claim, outcome)
    return outcome


def _claim(configuration: SourceConfiguration, actor: str) -> _Claim | None:
    now = timezone.now()
    free = SourceConfiguration.objects.filter(Q(lease_until__isnull=True) | Q(lease_until__lt=now), id=configuration.id, enabled=True)
    won = free.exclude(kind=PUSH).update(fencing_token=F("fencing_token") + 1, lease_until=now + LEASE, last_started_at=now)
    if not won:
        return None
    held = SourceConfiguration.objects.select_related("source__organisation", "corpus__organisation").get(id=configuration.id)
    return _Claim(held, actor)


@contextmanager
def _lease_kept(claim: _Claim) -> Iterator[None]:
    """Extend the lease from a thread, however long one listing or one document takes; losing it is noticed at the next step."""
    done = threading.Event()

    def keep() -> None:
        while not done.wait(LEASE.total_seconds() / 3):
            try:
                claim.hold()
            except LeaseLost:
                return
            except DatabaseError:
                logger.exception("the lease of source %s could not be extended", claim.configuration.source_id)
            finally:
                connection.close()

    thread = threading.Thread(target=keep, name=f"lease-{claim.configuration.id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(timeout=5)


def _release(claim: _Claim, outcome: SyncOutcome) -> None:
    now = timezone.now()
    held = claim.configuration
    changes: dict[str, Any] = {
        "lease_until": None,
        "next_due_at": now + timedelta(seconds=held.interval_seconds),
        "last_outcome": outcome.state[:64],
        "last_message": outcome.message[:500],
    }
    if outcome.state in ("complete", "deletions_held"):
        changes["last_complete_at"] = now
    SourceConfiguration.objects.filter(id=held.id, fencing_token=held.fencing_token).update(**changes)


def _sync(claim: _Claim, outcome: SyncOutcome, confirm: bool, stop: Callable[[], bool], say: Say) -> None:
    source = claim.configuration.source
    connector = connector_of(claim.configuration)
    listing = connector.listing()
    outcome.listed, outcome.unready = len(listing.items), len(listing.unready)
    if not listing.complete:
        outcome.state, outcome.message = "partial", listing.reason
    known = {row.external_id: row for row in SourceItem.objects.filter(source=source)}
    _mark_seen(claim, [name for name in (*(i.external_id for i in listing.items), *listing.unready) if name in known])
    for item in listing.items:
        if stop():
            outcome.state, outcome.message = "partial", "stopped; the next sync goes on from here"
            return
        _bring_up_to_date(claim, connector, item, known.get(item.external_id), outcome, say)
    if listing.complete:
        _delete_what_is_gone(claim, listing, known, outcome, confirm, say)


def _mark_seen(claim: _Claim, names: Sequence[str]) -> None:
    for start in range(0, len(names), 1000):
        some = names[start : start + 1000]
        with transaction.atomic():
            claim.hold()
            SourceItem.objects.filter(source=claim.configuration.source, external_id__in=some).update(
                seen_at=timezone.now(), missing_since=None
            )


def _bring_up_to_date(
    claim: _Claim, connector: Connector, item: Item, known: SourceItem | None, outcome: SyncOutcome, say: Say
) -> None:
    if known is None or known.fingerprint != item.fingerprint:
        try:
            blob = _fetch(claim, connector, item)
        except (ItemGone, ItemChanged):
            outcome.postponed += 1
            return
        except IngestionError as error:
            _refuse(claim, item, error)
            outcome.refused[item.external_id] = f"{error.code}: {error.message}"
            say(f"refused {item.external_id}: {error.message}")
            return
        outcome.events.append(_hand_in(claim, item, blob, known))
        outcome.submitted += 1
        say(f"sent {item.external_id}")
    elif known.event_id is not None and known.access != (wanted := _access(claim.configuration, item)):
        outcome.events.append(_send_access(claim, item, wanted))
        outcome.access_changed += 1
        say(f"sent the list of {item.external_id}")


def _fetch(claim: _Claim, connector: Connector, item: Item) -> Blob:
    """The item's bytes in the blob store. Raises `IngestionError` for what is too large, and what the connector raises."""
    limit = settings.PIPELINE["MAX_DOCUMENT_BYTES"]
    if item.bytes > limit:
        raise failure("too_large", f"{item.bytes} bytes; at most {limit} are taken")
    with tempfile.TemporaryDirectory(prefix="docmemo-source-") as folder:
        path = Path(folder) / "content"
        # used only after the connector has said, on leaving its block, that these are the bytes it listed
        with connector.open(item) as stream, path.open("wb") as file:
            shutil.copyfileobj(stream, file, 1 << 20)
        return blob_store(claim.configuration.source.organisation, path)


def _access(configuration: SourceConfiguration, item: Item) -> dict[str, Any] | None:
    """The whole list of an item: the item's own allow list before the source's, both deny lists; None where nobody says anything."""
    if item.access is None and configuration.allow is None and not configuration.deny:
        return None
    allow = configuration.allow if item.access is None else item.access.allow
    deny = set(configuration.deny) | set(() if item.access is None else item.access.deny)
    return {"allow": None if allow is None else sorted(allow), "deny": sorted(deny)}


@transaction.atomic
def _hand_in(claim: _Claim, item: Item, blob: Blob, known: SourceItem | None) -> UUID:
    claim.hold()
    configuration = claim.configuration
    wanted = _access(configuration, item)
    # a list that this source put in force and says nothing of any more is taken away, not left behind
    sent = wanted if wanted is not None or known is None or known.access is None else {"allow": None, "deny": []}
    event_id = document_submit(
        organisation=configuration.source.organisation, actor=claim.actor, corpus=configuration.corpus,
        external_id=document_id_of(configuration.source, item.external_id), content=blob, file_name=item.file_name,
        title=item.title or Path(item.file_name).stem.replace("_", " "), allow=sent["allow"] if sent else None,
        deny=sent["deny"] if sent else (), keep_access=sent is None, source=configuration.source.name,
    )  # fmt: skip
    _remember(claim, item, fingerprint=item.fingerprint, event_id=event_id, access=wanted, refusal="")
    return event_id


@transaction.atomic
def _send_access(claim: _Claim, item: Item, wanted: dict[str, Any] | None) -> UUID:
    claim.hold()
    configuration = claim.configuration
    sent = wanted or {"allow": None, "deny": []}
    event_id = document_access_send(
        actor=claim.actor, corpus=configuration.corpus, external_id=document_id_of(configuration.source, item.external_id),
        allow=sent["allow"], deny=sent["deny"], source=configuration.source.name,
    )  # fmt: skip
    _remember(claim, item, access=wanted)
    return event_id


@transaction.atomic
def _refuse(claim: _Claim, item: Item, error: IngestionError) -> None:
    """Remember that these bytes are not taken; the version before stays, and other bytes are tried again."""
    claim.hold()
    _remember(claim, item, fingerprint=item.fingerprint, refusal=error.code)


def _remember(claim: _Claim, item: Item, **fields: Any) -> None:
    SourceItem.objects.update_or_create(
        source=claim.configuration.source, external_id=item.external_id,
        defaults={"seen_at": timezone.now(), "missing_since": None, **fields},
    )  # fmt: skip


def _delete_what_is_gone(
    claim: _Claim, listing: Listing, known: dict[str, SourceItem], outcome: SyncOutcome, confirm: bool, say: Say
) -> None:
    there = {item.external_id for item in listing.items} | listing.unready
    gone = [row for name, row in known.items() if name not in there]
    if len(gone) >= HELD_FROM and len(gone) * 2 > len(known) and not confirm:
        SourceItem.objects.filter(id__in=[row.id for row in gone], missing_since__isnull=True).update(missing_since=timezone.now())
        outcome.state, outcome.held = "deletions_held", len(gone)
        outcome.message = (
            f"{len(gone)} of {len(known)} documents are missing; nothing was deleted. If that is right: "
            f"manage.py sources sync-now {claim.configuration.source.name} --confirm-deletions"
        )
        return
    for row in gone:
        _delete(claim, row, outcome)
        say(f"sent the deletion of {row.external_id}")


@transaction.atomic
def _delete(claim: _Claim, row: SourceItem, outcome: SyncOutcome) -> None:
    claim.hold()
    configuration = claim.configuration
    if row.event_id is not None:  # something was handed in under this id
        event_id = document_deletion_send(
            actor=claim.actor, corpus=configuration.corpus, external_id=document_id_of(configuration.source, row.external_id),
            source=configuration.source.name,
        )  # fmt: skip
        outcome.events.append(event_id)
        outcome.deleted += 1
    row.delete()
