"""Documents, their immutable versions, and the builds of the index that a version has had."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from ingestion.domain.cleaning import clean_line
from ingestion.domain.lifecycle import BuildState
from ingestion.models.access import AccessClass
from ingestion.models.base import Identified, state_constraint, state_field
from ingestion.models.corpus import Corpus
from ingestion.models.people import Organisation


class Blob(Identified):
    """Stored bytes, shared by content within one organisation."""

    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="blobs")
    sha256 = models.CharField(max_length=64)
    bytes = models.BigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    touched_at = models.DateTimeField(default=timezone.now)  # last handed in

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "sha256"], name="blob_once")]

    @property
    def key(self) -> str:
        """Where the bytes are kept in the blob store."""
        return f"{self.organisation_id}/content/{self.sha256[:2]}/{self.sha256}"


class Document(Identified):
    """A document of a corpus, known to its source by `external_id`. The live pointer names (version, build)."""

    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="documents")
    corpus = models.ForeignKey(Corpus, on_delete=models.PROTECT, related_name="documents")
    external_id = models.CharField(max_length=1000)
    title = models.CharField(max_length=500, blank=True)
    # of the newest event that took effect, content or access; kept on the tombstone
    revision = models.BigIntegerField(default=0)
    live_version = models.ForeignKey("DocumentVersion", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    live_build = models.ForeignKey("Build", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    # the revision of the newest tombstone: versions up to it are purged and never used again
    purged_through = models.BigIntegerField(default=0)
    versions_made = models.PositiveIntegerField(default=0)  # over all lives of the document; a number is used once
    language = models.CharField(max_length=32, blank=True)  # set by a person; else detected for each build
    deleted_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["corpus", "external_id"], name="document_external_id_once"),
            models.CheckConstraint(
                name="document_live_pair",
                condition=models.Q(live_version__isnull=True, live_build__isnull=True)
                | models.Q(live_version__isnull=False, live_build__isnull=False),
            ),
            models.CheckConstraint(
                name="document_deleted_is_not_live",
                condition=models.Q(deleted_at__isnull=True) | models.Q(live_build__isnull=True),
            ),
        ]
        indexes = [models.Index(fields=["organisation", "live_build"], name="document_live")]

    def __str__(self) -> str:
        return clean_line(self.title, 1000) or self.shown_id

    @property
    def shown_id(self) -> str:
        """The external id as people are shown it: the key itself may hold direction marks or terminal codes."""
        return clean_line(self.external_id, 1000) or str(self.id)


class DocumentVersion(Identified):
    """Immutable content: a hash, its bytes, the revision that brought it."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    revision = models.BigIntegerField()
    blob = models.ForeignKey(Blob, on_delete=models.PROTECT, null=True, related_name="versions")
    content_sha256 = models.CharField(max_length=64)
    bytes = models.BigIntegerField()
    file_name = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["document", "number"], name="version_number_once")]


class Build(Identified):
    """One run of the pipeline over a version. Pages, texts, passages and vectors belong to a build."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="builds")
    version = models.ForeignKey(DocumentVersion, on_delete=models.CASCADE, related_name="builds")
    fingerprint = models.CharField(max_length=64)  # of stages, models and settings
    state = state_field(BuildState, BuildState.BUILDING)
    page_count = models.PositiveIntegerField(null=True)
    language = models.CharField(max_length=32, blank=True)  # a PostgreSQL text search configuration
    document_type = models.CharField(max_length=64, blank=True)
    inspection = models.JSONField(default=dict, blank=True)
    warnings = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    published_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["version", "fingerprint"], name="build_fingerprint_once"),
            state_constraint("build_state_known", BuildState),
        ]


class BuildLiveness(Identified):
    """When a build was the live one; the open interval is the live one now."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="liveness")
    build = models.ForeignKey(Build, on_delete=models.CASCADE, related_name="liveness")
    live_from = models.DateTimeField()
    live_to = models.DateTimeField(null=True, blank=True)
    epoch = models.BigIntegerField(default=0)  # of the corpus, when this version came to be live; a rebuild of it keeps it

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document"], condition=models.Q(live_to__isnull=True), name="one_live_build")
        ]


class BuildAccessCount(Identified):
    """Pages and words of a build by access class: word statistics come from visible pages without counting them each time."""

    build = models.ForeignKey(Build, on_delete=models.CASCADE, related_name="access_counts")
    access_class = models.ForeignKey(AccessClass, on_delete=models.PROTECT, related_name="+")
    pages = models.PositiveIntegerField()
    words = models.PositiveBigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["build", "access_class"], name="build_access_count_once")]


class Purge(Identified):
    """The forgetting of a document's life up to a tombstone, and its receipt: how many rows and files of each kind were removed."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="purges")
    through_revision = models.BigIntegerField()
    requested_at = models.DateTimeField(auto_now_add=True)
    offered_at = models.DateTimeField(null=True, blank=True)
    builds = models.JSONField(default=list, blank=True)
    removed = models.JSONField(default=dict, blank=True)
    purged_at = models.DateTimeField(null=True, blank=True)
    # a worker that was in the middle of a stage may have written a last file: looked at again when none can be left
    confirmed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["document", "through_revision"], name="purge_once")]
        indexes = [models.Index(fields=["requested_at"], condition=models.Q(confirmed_at__isnull=True), name="purge_open")]
