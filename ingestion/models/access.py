"""Access lists over time, and their interned combinations that pages carry."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from ingestion.domain.access import AccessClause, AccessList
from ingestion.models.base import Identified
from ingestion.models.corpus import Corpus
from ingestion.models.people import Organisation


class AccessLevel(models.TextChoices):
    CORPUS = "corpus"
    DOCUMENT = "document"
    PAGE = "page"


class AccessAssignment(Identified):
    """One level's whole list for an interval; the open one (`valid_to` null) is in force. Lists hold principal ids."""

    level = models.CharField(max_length=8, choices=AccessLevel.choices)
    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="access_assignments")
    document = models.ForeignKey(
        "ingestion.Document", on_delete=models.CASCADE, null=True, blank=True, related_name="access_assignments"
    )
    page_number = models.PositiveIntegerField(null=True, blank=True)
    allow = ArrayField(models.UUIDField(), null=True, blank=True)
    deny = ArrayField(models.UUIDField(), default=list, blank=True)
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["corpus", "document", "page_number"],
                condition=models.Q(valid_to__isnull=True),
                nulls_distinct=False,
                name="access_in_force_once",
            ),
            models.CheckConstraint(
                name="access_level_shape",
                condition=models.Q(level="corpus", document__isnull=True, page_number__isnull=True)
                | models.Q(level="document", document__isnull=False, page_number__isnull=True)
                | models.Q(level="page", document__isnull=False, page_number__isnull=False),
            ),
        ]

    def as_list(self) -> AccessList:
        return AccessList(None if self.allow is None else frozenset(self.allow), frozenset(self.deny))


class AccessClass(Identified):
    """One interned combination of the three levels' lists; pages carry its id. Never changed, only replaced on the page."""

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="access_classes")
    digest = models.CharField(max_length=64)
    corpus_allow = ArrayField(models.UUIDField())
    document_allow = ArrayField(models.UUIDField(), null=True)
    page_allow = ArrayField(models.UUIDField(), null=True)
    deny = ArrayField(models.UUIDField(), default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "digest"], name="access_class_once")]
        indexes = [GinIndex(fields=["corpus_allow"], name="access_class_corpus_allow")]

    def clause(self) -> AccessClause:
        return AccessClause(
            corpus_allow=frozenset(self.corpus_allow),
            document_allow=None if self.document_allow is None else frozenset(self.document_allow),
            page_allow=None if self.page_allow is None else frozenset(self.page_allow),
            deny=frozenset(self.deny),
        )
