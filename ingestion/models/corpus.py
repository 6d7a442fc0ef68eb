"""A corpus: a set of documents under one ceiling of access."""

from __future__ import annotations

from django.db import models

from ingestion.models.base import Identified
from ingestion.models.people import Organisation


class Corpus(Identified):
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="corpora")
    slug = models.SlugField(max_length=100)
    name = models.CharField(max_length=200)
    revision = models.BigIntegerField(default=0)
    deleted_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "slug"], name="corpus_slug_once")]
        verbose_name_plural = "corpora"

    def __str__(self) -> str:
        return self.slug


class CorpusEpoch(models.Model):
    """How many versions were published in a corpus. Moved last in the transaction of a publication, so it is exact for any snapshot.

    No constraint of the database leads to the corpus: publishing must take no lock of its row. No employee is shown the number.
    """

    corpus = models.OneToOneField(Corpus, on_delete=models.CASCADE, primary_key=True, db_constraint=False, related_name="epoch_row")
    epoch = models.BigIntegerField(default=0)
