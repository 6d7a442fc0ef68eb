"""Sources of documents: how each is reached and how far it was taken in, tokens for programs, uploads in parts, passwords of files."""

from __future__ import annotations

import logging

from django.db import models

from ingestion.domain.intake import UploadState
from ingestion.models.base import Identified, state_constraint, state_field
from ingestion.models.corpus import Corpus
from ingestion.models.document import Blob
from ingestion.models.event import Source
from ingestion.models.people import Organisation
from ingestion.seams.seal import Seal, SealBroken

logger = logging.getLogger(__name__)

PUSH = "push"  # a source that sends by itself, over HTTP or Kafka; nobody asks it


class SourceConfiguration(Identified):
    """How a source is reached: its connector and options, the corpus and the lists of its documents. Secrets are named, never held."""

    source = models.OneToOneField(Source, on_delete=models.CASCADE, related_name="configuration")
    kind = models.CharField(max_length=64)
    corpus = models.ForeignKey(Corpus, on_delete=models.PROTECT, related_name="+")
    options = models.JSONField(default=dict, blank=True)
    secrets = models.JSONField(default=dict, blank=True)  # the connector's name of a secret -> the variable that holds it
    allow = models.JSONField(null=True, blank=True)  # names; null leaves documents to the corpus
    deny = models.JSONField(default=list, blank=True)
    interval_seconds = models.PositiveIntegerField(default=60)
    enabled = models.BooleanField(default=True)
    next_due_at = models.DateTimeField()
    # one sync at a time: a lease that ends by itself, a number that grows with each claim
    lease_until = models.DateTimeField(null=True, blank=True)
    fencing_token = models.BigIntegerField(default=0)
    last_started_at = models.DateTimeField(null=True, blank=True)
    last_complete_at = models.DateTimeField(null=True, blank=True)
    last_outcome = models.CharField(max_length=64, blank=True)
    last_message = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.CheckConstraint(name="source_interval_positive", condition=models.Q(interval_seconds__gte=1))]


class SourceItem(Identified):
    """What was taken in last of one item of a source. The row goes when the document's deletion was sent."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="items")
    external_id = models.CharField(max_length=900)
    fingerprint = models.CharField(max_length=200)
    access = models.JSONField(null=True, blank=True)  # the list that was sent; null when none was
    event_id = models.UUIDField(null=True, blank=True)  # of the last event that was sent for it
    refusal = models.CharField(max_length=64, blank=True)  # why this fingerprint was not taken
    seen_at = models.DateTimeField()
    missing_since = models.DateTimeField(null=True, blank=True)  # a complete listing lacked it

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "external_id"], name="source_item_once")]


class ApiToken(Identified):
    """Lets a program hand documents in as one source. Only a digest is kept; the token itself is shown once."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)


class Upload(Identified):
    """A document on its way in parts; see `ingestion.domain.intake` for its states."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="uploads")
    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="+")
    external_id = models.CharField(max_length=900)
    file_name = models.CharField(max_length=500, blank=True)
    title = models.CharField(max_length=500, blank=True)
    access = models.JSONField(null=True, blank=True)
    sealed_password = models.BinaryField(null=True, blank=True)
    bytes = models.BigIntegerField()
    sha256 = models.CharField(max_length=64, blank=True)
    received = models.BigIntegerField(default=0)
    state = state_field(UploadState, UploadState.OPEN)
    event_id = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    touched_at = models.DateTimeField()

    class Meta:
        constraints = [
            state_constraint("upload_state_known", UploadState),
            models.CheckConstraint(name="upload_within_its_size", condition=models.Q(received__gte=0, received__lte=models.F("bytes"))),
            models.CheckConstraint(
                name="upload_complete_is_whole",
                condition=~models.Q(state="complete") | models.Q(received=models.F("bytes"), event_id__isnull=False),
            ),
        ]
        indexes = [models.Index(fields=["touched_at"], condition=models.Q(state="open"), name="upload_open")]

    @property
    def prefix(self) -> str:
        """How the keys of its parts begin in the blob store."""
        return f"{self.source.organisation_id}/uploads/{self.id}-"


class UploadPart(Identified):
    """A part that arrived: its place, and its key in the blob store."""

    upload = models.ForeignKey(Upload, on_delete=models.CASCADE, related_name="parts")
    offset = models.BigIntegerField()
    bytes = models.BigIntegerField()
    key = models.CharField(max_length=300)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["upload", "offset"], name="upload_part_once")]


class DocumentPasswords(models.Manager["DocumentPassword"]):
    """Finds the password of a file."""

    def opened(self, blob: Blob, seal: Seal) -> str | None:
        """The password of these bytes, or None: none was given, or it was sealed under a key that is gone."""
        row = self.filter(blob_id=blob.id).first()
        if row is None:
            return None
        try:
            return seal.open(bytes(row.sealed))
        except SealBroken:
            logger.warning("the password of blob %s was sealed under another SECRET_KEY", blob.id)
            return None


class DocumentPassword(Identified):
    """The password of an encrypted file, sealed. Once it has opened the file it is not replaced by another."""

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    blob = models.OneToOneField(Blob, on_delete=models.CASCADE, related_name="+")
    sealed = models.BinaryField()
    proven_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = DocumentPasswords()
