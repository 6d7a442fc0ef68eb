"""The audit chain of an organisation: append-only entries, each bound to the one before; payloads apart and erasable."""

from __future__ import annotations

from django.db import models

from ingestion.models.base import Identified
from ingestion.models.people import Organisation


class AuditEntry(Identified):
    """`entry_hash` = SHA-256 over position, previous hash, act, subject, actor, body and time, in canonical JSON.

    The database refuses UPDATE, DELETE and TRUNCATE (migration 0002). `body` holds ids, scores, verdicts and salted hashes.
    """

    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="audit_entries")
    position = models.BigIntegerField()
    act = models.CharField(max_length=64)
    subject = models.CharField(max_length=200)
    actor = models.CharField(max_length=200)
    body = models.JSONField()
    at = models.DateTimeField()
    previous_hash = models.CharField(max_length=64)
    entry_hash = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "position"], name="audit_position_once")]
        indexes = [models.Index(fields=["organisation", "subject"], name="audit_subject")]


class AuditPayload(Identified):
    """Text that an entry vouches for by a salted hash. Erasing takes the content AND the salt; the chain still verifies."""

    entry = models.ForeignKey(AuditEntry, on_delete=models.PROTECT, related_name="payloads")
    name = models.CharField(max_length=64)
    salt = models.CharField(max_length=64, blank=True)
    content = models.JSONField(null=True, blank=True)
    documents = models.JSONField(default=list, blank=True)  # ids of documents that the content quotes
    erased_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["entry", "name"], name="audit_payload_once")]
