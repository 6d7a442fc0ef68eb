"""The audit chain: append-only in the database, every tampering is found and named, erasing keeps it whole."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import DatabaseError, connections, transaction

from ingestion.models import AuditEntry, AuditPayload
from ingestion.services.audit import audit_append, audit_verify, payloads_erase
from tests.ingestion.fakes import Workbench


def _append(bench: Workbench, count: int, **fields: object) -> list[AuditEntry]:
    entries = []
    for number in range(count):
        with transaction.atomic():
            entries.append(
                audit_append(
                    organisation=bench.cast.organisation, act="test", subject=str(number), actor="t", body={"n": number}, **fields
                )
            )
    return entries


def _as_owner(sql: str, *parameters: object) -> None:
    """What somebody with the owner's rights could do to the table."""
    with transaction.atomic(using="migrator"), connections["migrator"].cursor() as cursor:
        cursor.execute("alter table ingestion_auditentry disable trigger user")
        cursor.execute("alter table ingestion_auditpayload disable trigger user")
        cursor.execute(sql, parameters)
        cursor.execute("set constraints all immediate")
        cursor.execute("alter table ingestion_auditentry enable trigger user")
        cursor.execute("alter table ingestion_auditpayload enable trigger user")


def _codes(bench: Workbench) -> list[tuple[int, str]]:
    return [(f.position, f.code) for f in audit_verify(bench.cast.organisation)]


def test_a_chain_that_nobody_touched_is_whole(bench: Workbench) -> None:
    _append(bench, 5, payloads={"question": "what is ü?"})
    assert audit_verify(bench.cast.organisation) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda e: AuditEntry.objects.filter(id=e.id).update(act="other"),
        lambda e: AuditEntry.objects.filter(id=e.id).delete(),
        lambda e: AuditPayload.objects.filter(entry=e).update(content="other"),
        lambda e: AuditPayload.objects.filter(entry=e).delete(),
    ],
)
def test_the_application_cannot_change_it(bench: Workbench, change) -> None:
    entry = _append(bench, 1, payloads={"question": "q"})[0]
    with pytest.raises(DatabaseError), transaction.atomic():
        change(entry)
    assert audit_verify(bench.cast.organisation) == []


def test_the_application_cannot_fork_it(bench: Workbench) -> None:
    entry = _append(bench, 2)[0]
    with pytest.raises(DatabaseError), transaction.atomic():
        AuditEntry.objects.create(
            organisation=bench.cast.organisation, position=entry.position + 5, act="x", subject="", actor="", body={}, at=entry.at,
            previous_hash=entry.entry_hash, entry_hash="0" * 64,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("tampering", "code"),
    [
        ("update ingestion_auditentry set actor = 'someone else' where id = %s", "changed"),
        ("update ingestion_auditentry set body = body || '{\"n\": 99}' where id = %s", "changed"),
        ("update ingestion_auditpayload set content = '\"other\"' where entry_id = %s", "payload_changed"),
        ("delete from ingestion_auditpayload where entry_id = %s", "payload_missing"),
    ],
)
def test_a_change_is_found_and_named(bench: Workbench, tampering: str, code: str) -> None:
    entry = _append(bench, 5, payloads={"question": "q"})[2]
    _as_owner(tampering, entry.id)
    assert _codes(bench)[0] == (entry.position, code)


def test_a_missing_entry_is_found(bench: Workbench) -> None:
    entry = _append(bench, 5)[2]
    _as_owner("delete from ingestion_auditentry where id = %s", entry.id)
    assert _codes(bench)[0] == (entry.position, "missing")


def test_a_cut_tail_is_found(bench: Workbench) -> None:
    entries = _append(bench, 5)
    _as_owner("delete from ingestion_auditentry where position > %s", entries[2].position)
    assert _codes(bench) == [(entries[3].position, "cut_tail")]


def test_a_chain_written_anew_is_found_by_the_published_heads(bench: Workbench) -> None:
    entries = _append(bench, 3)
    _as_owner("delete from ingestion_auditentry where position = %s", entries[2].position)
    _append(bench, 1)
    assert _codes(bench) == [(entries[2].position, "rewritten")]


def test_erasing_takes_the_text_and_keeps_the_chain(bench: Workbench) -> None:
    document = uuid4()
    entry = _append(bench, 1, payloads={"answer": "the secret is 42"}, documents=[document])[0]
    assert payloads_erase(organisation=bench.cast.organisation, document=document, actor="t") == 1
    payload = AuditPayload.objects.get(entry=entry)
    assert (payload.content, payload.salt) == (None, "")
    assert audit_verify(bench.cast.organisation) == []
