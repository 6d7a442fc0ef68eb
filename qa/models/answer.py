"""What was released: claims, and for each the places that carry it."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from ingestion.models import Build, Document, DocumentVersion, Page
from ingestion.models.base import Identified
from qa.models.run import Run


class Answer(Identified):
    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="answer")
    text = models.TextField()
    released_at = models.DateTimeField(auto_now_add=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)  # a document that it rested on was deleted; what quoted it is gone


class Claim(Identified):
    answer = models.ForeignKey(Answer, on_delete=models.CASCADE, related_name="claims")
    ordinal = models.PositiveSmallIntegerField()
    text = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["answer", "ordinal"], name="claim_ordinal_once")]


class Citation(Identified):
    """An anchor: document, version, build, physical page, printed label, offsets, quote, hash, boxes (one for each line)."""

    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="citations")
    ordinal = models.PositiveSmallIntegerField()
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="+")
    version = models.ForeignKey(DocumentVersion, on_delete=models.CASCADE, related_name="+")
    build = models.ForeignKey(Build, on_delete=models.CASCADE, related_name="+")
    page = models.ForeignKey(Page, on_delete=models.CASCADE, related_name="+")
    page_number = models.PositiveIntegerField()
    label = models.CharField(max_length=64, blank=True)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    quote = models.TextField()
    quote_sha256 = models.CharField(max_length=64)
    boxes = ArrayField(ArrayField(models.FloatField(), size=4), default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["claim", "ordinal"], name="citation_ordinal_once")]
