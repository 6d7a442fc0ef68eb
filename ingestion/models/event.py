"""Events in and out. Each change of state and its outbox row are one transaction; the broker is never trusted alone."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from ingestion.domain.events import INTAKE_TOPICS
from ingestion.domain.lifecycle import InboxState
from ingestion.models.base import Identified, state_constraint, state_field
from ingestion.models.corpus import Corpus
from ingestion.models.people import Organisation


class Source(Identified):
    """A registered producer: it may write to its organisation and, if any are named, to these corpora only."""

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="sources")
    name = models.SlugField(max_length=100)
    corpora = models.ManyToManyField(Corpus, blank=True, related_name="sources")
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "name"], name="source_name_once")]

    @property
    def uri(self) -> str:
        """The CloudEvents `source` attribute."""
        return f"/docmemo/{self.organisation.slug}/{self.name}"


class InboxEvent(Identified):
    """An event that arrived, kept once for each (source, event id), with what became of it."""

    source = models.ForeignKey(Source, on_delete=models.PROTECT, related_name="events")
    event_id = models.CharField(max_length=200)
    type = models.CharField(max_length=100)
    corpus_slug = models.CharField(max_length=100)
    external_id = models.CharField(max_length=1000, blank=True)
    revision = models.BigIntegerField()
    payload = models.JSONField()
    state = state_field(InboxState, InboxState.RECEIVED)
    reason = models.CharField(max_length=500, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)  # to put it into effect
    received_at = models.DateTimeField(default=timezone.now)
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["source", "event_id"], name="inbox_event_once"),
            state_constraint("inbox_state_known", InboxState),
        ]
        indexes = [
            models.Index(fields=["received_at"], condition=models.Q(state__in=["received", "waiting"]), name="inbox_unsettled")
        ]


class OutboxEvent(Identified):
    """An event to be published after the transaction that wrote it has committed."""

    topic = models.CharField(max_length=200)
    key = models.CharField(max_length=1200)
    type = models.CharField(max_length=100)
    payload = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)
    published_at = models.DateTimeField(null=True, blank=True)
    publications = models.PositiveSmallIntegerField(default=0)
    received_at = models.DateTimeField(null=True, blank=True)  # of our own events: when it was in the inbox

    class Meta:
        indexes = [
            models.Index(fields=["id"], condition=models.Q(published_at__isnull=True), name="outbox_unpublished"),
            models.Index(
                fields=["published_at"],
                condition=models.Q(topic__in=INTAKE_TOPICS, received_at__isnull=True),
                name="outbox_not_received",
            ),
            models.Index(fields=["key", "id"], condition=models.Q(topic__in=INTAKE_TOPICS), name="outbox_intake_key"),
        ]


class DeadLetter(Identified):
    """A message that could not be taken in, with its cause; the dead-letter topic is a copy."""

    topic = models.CharField(max_length=200)
    partition = models.IntegerField(default=-1)
    offset = models.BigIntegerField(default=-1)
    key = models.BinaryField(null=True)
    value = models.BinaryField()
    headers = models.JSONField(default=dict, blank=True)
    cause = models.CharField(max_length=64)
    reason = models.CharField(max_length=500)
    inbox_event = models.ForeignKey(InboxEvent, on_delete=models.SET_NULL, null=True, blank=True, related_name="dead_letters")
    created_at = models.DateTimeField(auto_now_add=True)
    redriven_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["topic", "partition", "offset"], condition=models.Q(offset__gte=0), name="dead_letter_once"
            )
        ]
