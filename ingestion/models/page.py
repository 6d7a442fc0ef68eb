"""What a build holds of each page. The access class stands on pages, passages and vectors; the rest is reached through its page."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from pgvector.django import HalfVectorField

from ingestion.domain.pages import BlockKind, TextSource, Word
from ingestion.models.access import AccessClass
from ingestion.models.base import Identified, state_constraint
from ingestion.models.document import Build, Document


class Page(Identified):
    """A physical page (1-based `number`) with its printed `label`, its size as displayed in points, and who may see it."""

    build = models.ForeignKey(Build, on_delete=models.CASCADE, related_name="pages")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="pages")
    number = models.PositiveIntegerField()
    label = models.CharField(max_length=64, blank=True)
    width = models.FloatField()
    height = models.FloatField()
    rotation = models.PositiveSmallIntegerField(default=0)
    access_class = models.ForeignKey(AccessClass, on_delete=models.PROTECT, null=True, related_name="pages")
    text_source = models.CharField(max_length=8, choices=[(s.value, s.value) for s in TextSource], default=TextSource.NONE.value)
    blank = models.BooleanField(default=False)
    image_key = models.CharField(max_length=300, blank=True)
    image_sha256 = models.CharField(max_length=64, blank=True)
    words = models.PositiveIntegerField(default=0)
    role = models.CharField(max_length=24, default="body")
    warnings = models.JSONField(default=list, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["build", "number"], name="page_number_once"),
            state_constraint("page_text_source_known", TextSource, field="text_source"),
        ]
        indexes = [models.Index(fields=["build", "access_class"], name="page_build_access")]


class PageText(models.Model):
    """The one canonical text of a page and where each word of it stands: rows [start, end, line, x0, y0, x1, y1]."""

    page = models.OneToOneField(Page, on_delete=models.CASCADE, primary_key=True, related_name="content")
    text = models.TextField(blank=True)
    word_boxes = models.JSONField(default=list, blank=True)

    def located_words(self) -> tuple[Word, ...]:
        return tuple(Word(int(s), int(e), int(line), (x0, y0, x1, y1)) for s, e, line, x0, y0, x1, y1 in self.word_boxes)


class Block(Identified):
    """A piece of a page's structure: a range of the canonical text, a box, and for captions the label they carry."""

    page = models.ForeignKey(Page, on_delete=models.CASCADE, related_name="blocks")
    ordinal = models.PositiveIntegerField()
    kind = models.CharField(max_length=12, choices=[(k.value, k.value) for k in BlockKind])
    level = models.PositiveSmallIntegerField(default=0)
    label = models.CharField(max_length=64, blank=True)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    box = ArrayField(models.FloatField(), size=4)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["page", "ordinal"], name="block_ordinal_once")]


class Passage(Identified):
    """A stretch of a page's text short enough for the embedder; its text is the range, never a copy."""

    page = models.ForeignKey(Page, on_delete=models.CASCADE, related_name="passages")
    build = models.ForeignKey(Build, on_delete=models.CASCADE, related_name="passages")
    access_class = models.ForeignKey(AccessClass, on_delete=models.PROTECT, null=True, related_name="+")
    ordinal = models.PositiveIntegerField()
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["page", "ordinal"], name="passage_ordinal_once")]


class EmbeddingSpace(Identified):
    """Vectors of different spaces are never compared; the fingerprint pins weights and settings."""

    name = models.CharField(max_length=100)
    dimensions = models.PositiveIntegerField()
    fingerprint = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["name", "fingerprint"], name="space_once")]


class PassageVector(models.Model):
    """The vector of a passage in one space."""

    pk = models.CompositePrimaryKey("space_id", "passage_id")
    space = models.ForeignKey(EmbeddingSpace, on_delete=models.PROTECT)
    passage = models.ForeignKey(Passage, on_delete=models.CASCADE)
    page = models.ForeignKey(Page, on_delete=models.CASCADE)
    build = models.ForeignKey(Build, on_delete=models.CASCADE)
    access_class = models.ForeignKey(AccessClass, on_delete=models.PROTECT, null=True, related_name="+")
    vector = HalfVectorField()

    class Meta:
        indexes = [models.Index(fields=["build", "access_class"], name="passage_vector_scan")]


class PooledVector(models.Model):
    """One vector for a whole page in one space."""

    pk = models.CompositePrimaryKey("space_id", "page_id")
    space = models.ForeignKey(EmbeddingSpace, on_delete=models.PROTECT)
    page = models.ForeignKey(Page, on_delete=models.CASCADE)
    build = models.ForeignKey(Build, on_delete=models.CASCADE)
    access_class = models.ForeignKey(AccessClass, on_delete=models.PROTECT, null=True, related_name="+")
    vector = HalfVectorField()

    class Meta:
        indexes = [models.Index(fields=["build", "access_class"], name="pooled_vector_scan")]


class MultiVector(models.Model):
    """A page's token vectors for MaxSim: `tokens` rows of float16 in `data`, ragged, never padded."""

    pk = models.CompositePrimaryKey("space_id", "page_id")
    space = models.ForeignKey(EmbeddingSpace, on_delete=models.PROTECT)
    page = models.ForeignKey(Page, on_delete=models.CASCADE)
    build = models.ForeignKey(Build, on_delete=models.CASCADE)
    access_class = models.ForeignKey(AccessClass, on_delete=models.PROTECT, null=True, related_name="+")
    tokens = models.PositiveIntegerField()
    data = models.BinaryField()


class Posting(models.Model):
    """How often a lexeme stands on a page: in its body (field b) or in the headings it stands under (field h)."""

    pk = models.CompositePrimaryKey("page_id", "field", "lexeme")
    page = models.ForeignKey(Page, on_delete=models.CASCADE)
    field = models.CharField(max_length=1)
    lexeme = models.TextField()
    build = models.ForeignKey(Build, on_delete=models.CASCADE)
    access_class = models.ForeignKey(AccessClass, on_delete=models.PROTECT, null=True, related_name="+")
    frequency = models.PositiveIntegerField()

    class Meta:
        indexes = [
            models.Index(
                fields=["lexeme", "access_class", "build"], include=["field", "page", "frequency"], name="posting_search"
            )
        ]


class SchemaFact(Identified):
    """A fact of the Document Schema Memory, stored against a page and composed for each asker from visible pages only.

    Kinds: `section` {path: [titles]}, `role` {role}, `caption` {label, start, end}, `prior` {value, reason}.
    """

    page = models.ForeignKey(Page, on_delete=models.CASCADE, related_name="facts")
    kind = models.CharField(max_length=16)
    value = models.JSONField()

    class Meta:
        indexes = [models.Index(fields=["page", "kind"], name="schema_fact_page_kind")]
