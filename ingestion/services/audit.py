"""The audit chain: one for each organisation, append-only, bound by hashes; texts stand apart and can be erased.

    entry_hash = SHA-256(canonical JSON of organisation, position, previous_hash, act, subject, actor, body, time)

A payload is vouched for by `body["payloads"][name] = SHA-256(salt + canonical JSON of the content)`. Erasing takes content and
salt, so the hash tells nothing more, and is itself an entry. Heads are published (outbox topic and a file): verification compares
with them, so that a cut tail or a chain that was written anew is found.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from ingestion.models import AuditEntry, AuditPayload, Organisation, OutboxEvent

GENESIS = "0" * 64
HEADS_TOPIC = "docmemo.audit-heads"


def canonical_json(value: Any) -> str:
    """One text for one value: sorted keys, no spaces, ids and times as strings."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)


def _entry_hash(entry: AuditEntry) -> str:
    at = entry.at.astimezone(UTC).isoformat(timespec="microseconds")
    parts = [
        str(entry.organisation_id), entry.position, entry.previous_hash, entry.act, entry.subject, entry.actor, entry.body, at,
    ]  # fmt: skip
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()


def _payload_hash(salt: str, content: Any) -> str:
    return hashlib.sha256((salt + canonical_json(content)).encode()).hexdigest()


def _json_safe(value: Any) -> Any:
    """The value as PostgreSQL's jsonb will give it back, so that the hash is the same after reading."""
    return json.loads(canonical_json(value))


def audit_append(
    *,
    organisation: Organisation,
    act: str,
    subject: str,
    actor: str,
    body: Mapping[str, Any] | None = None,
    payloads: Mapping[str, Any] | None = None,
    documents: Sequence[UUID] = (),
) -> AuditEntry:
    """Append an entry in the caller's transaction. `payloads` are texts to be vouched for; `documents` are those they quote."""
    if not connection.in_atomic_block:
        raise RuntimeError("an audit entry belongs to the transaction of the act that it records")
    with connection.cursor() as cursor:  # one writer of a chain at a time, without a row that everyone updates
        cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"audit:{organisation.id}"])
    head = AuditEntry.objects.filter(organisation=organisation).order_by("-position").first()
    contents = {name: (secrets.token_hex(16), _json_safe(content)) for name, content in (payloads or {}).items()}
    entry = AuditEntry(
        organisation=organisation,
        position=head.position + 1 if head else 1,
        previous_hash=head.entry_hash if head else GENESIS,
        act=act,
        subject=subject[:200],
        actor=actor[:200],
        body=_json_safe(
            {**(body or {}), "payloads": {name: _payload_hash(salt, content) for name, (salt, content) in contents.items()}}
        ),
        at=timezone.now(),
    )
    entry.entry_hash = _entry_hash(entry)
    entry.save(force_insert=True)
    AuditPayload.objects.bulk_create(
        AuditPayload(entry=entry, name=name, salt=salt, content=content, documents=[str(d) for d in documents])
        for name, (salt, content) in contents.items()
    )
    head_record = {"organisation": str(organisation.id), "position": entry.position, "hash": entry.entry_hash}
    OutboxEvent.objects.create(topic=HEADS_TOPIC, key=str(organisation.id), type="audit.head", payload=head_record)
    transaction.on_commit(lambda: _write_head(head_record))
    return entry


def _heads_file(organisation_id: UUID | str) -> Path:
    return Path(settings.PIPELINE["AUDIT_HEADS_DIR"]) / f"{organisation_id}.jsonl"


def _write_head(record: Mapping[str, Any]) -> None:
    path = _heads_file(record["organisation"])
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:  # a single short write in append mode is atomic on a local file system
        file.write(json.dumps(record) + "\n")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not hold, at this position of the chain."""

    position: int
    code: str
    message: str


def published_heads(organisation_id: UUID) -> dict[int, str]:
    """Heads from the file, by position; of two for one position the first counts, since a chain is never written twice."""
    path = _heads_file(organisation_id)
    heads: dict[int, str] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
                heads.setdefault(int(record["position"]), str(record["hash"]))
            except (ValueError, KeyError, TypeError):
                heads.setdefault(-1, "unreadable")
    return heads


def audit_verify(organisation: Organisation, extra_heads: Mapping[int, str] | None = None) -> list[Finding]:
    """Walk the chain from its start; every link that does not hold, in order. Empty when the chain is whole.

    `extra_heads` (position -> hash) are heads from other places they were published to, such as the topic.
    """
    return list(_findings(organisation, {**published_heads(organisation.id), **(extra_heads or {})}))


def _findings(organisation: Organisation, heads: Mapping[int, str]) -> Iterator[Finding]:
    previous, expected = GENESIS, 1
    entries = AuditEntry.objects.filter(organisation=organisation).order_by("position").prefetch_related("payloads")
    for entry in entries.iterator(chunk_size=500):
        if entry.position != expected:
            yield Finding(expected, "missing", f"entries {expected} to {entry.position - 1} are missing")
        if entry.previous_hash != previous and entry.position == expected:
            yield Finding(entry.position, "broken_link", "the entry does not continue the one before it")
        if entry.entry_hash != _entry_hash(entry):
            yield Finding(entry.position, "changed", "the entry was changed after it was written")
        if heads.get(entry.position, entry.entry_hash) != entry.entry_hash:
            yield Finding(entry.position, "rewritten", "the entry differs from the head that was published")
        yield from _payload_findings(entry)
        previous, expected = entry.entry_hash, entry.position + 1
    newest = max(heads, default=0)
    if newest >= expected:
        yield Finding(expected, "cut_tail", f"heads were published up to {newest}, but the chain ends at {expected - 1}")
    if -1 in heads:
        yield Finding(0, "heads_unreadable", "the file of published heads has a line that cannot be read")


def _payload_findings(entry: AuditEntry) -> Iterator[Finding]:
    stored = {payload.name: payload for payload in entry.payloads.all()}
    for name, expected in entry.body.get("payloads", {}).items():
        payload = stored.get(name)
        if payload is None:
            yield Finding(entry.position, "payload_missing", f"the payload {name} is gone without having been erased")
        elif payload.erased_at is None and _payload_hash(payload.salt, payload.content) != expected:
            yield Finding(entry.position, "payload_changed", f"the payload {name} was changed after it was written")


@transaction.atomic
def payloads_erase(*, organisation: Organisation, document: UUID, actor: str) -> int:
    """Erase every payload that quotes the document, with its salt; the erasing is itself an entry. Returns how many."""
    quoting = AuditPayload.objects.filter(entry__organisation=organisation, documents__contains=[str(document)])
    return _erase(organisation, quoting, str(document), actor)


@transaction.atomic
def payloads_erase_of(*, organisation: Organisation, subjects: Sequence[str], why: str, actor: str) -> int:
    """Erase every payload of the entries about these subjects (runs), with its salt; one entry says so. Returns how many."""
    about = AuditPayload.objects.filter(entry__organisation=organisation, entry__subject__in=list(subjects))
    return _erase(organisation, about, why, actor)


def _erase(organisation: Organisation, wanted: QuerySet[AuditPayload], subject: str, actor: str) -> int:
    payloads = list(wanted.filter(erased_at__isnull=True).select_related("entry"))
    for payload in payloads:
        payload.content, payload.salt, payload.erased_at = None, "", timezone.now()
        payload.save(update_fields=["content", "salt", "erased_at"])
    if payloads:
        positions = sorted({payload.entry.position for payload in payloads})
        audit_append(organisation=organisation, act="payloads.erased", subject=subject, actor=actor, body={"positions": positions})
    return len(payloads)
