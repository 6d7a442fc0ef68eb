"""Outbox -> Kafka: publishes what has been committed, marks it afterwards. A crash in between publishes again, never loses."""

from __future__ import annotations

import json
import logging

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from ingestion.domain.events import CORPORA_TOPIC, DEAD_LETTERS_TOPIC, DOCUMENTS_TOPIC, EVENTS_TOPIC
from ingestion.models import OutboxEvent
from ingestion.seams import load
from ingestion.seams.event_bus import EventBus, Message, Publisher
from ingestion.services.audit import HEADS_TOPIC
from workers.loop import repeat, stop_on_signals

logger = logging.getLogger(__name__)

TOPICS = {DOCUMENTS_TOPIC: 4, CORPORA_TOPIC: 2, EVENTS_TOPIC: 4, DEAD_LETTERS_TOPIC: 1, HEADS_TOPIC: 1}
BATCH = 200


def relay_once(publisher: Publisher, limit: int = BATCH) -> int:
    """Publish the oldest unpublished rows in their order; returns how many. One relay works at a time."""
    with transaction.atomic():
        rows = list(
            OutboxEvent.objects.select_for_update().filter(published_at__isnull=True).order_by("id")[:limit]
        )
        publisher.publish(
            [
                Message(
                    topic=row.topic,
                    key=row.key.encode(),
                    value=json.dumps(row.payload, ensure_ascii=False).encode(),
                    headers={"content-type": b"application/cloudevents+json"},
                )
                for row in rows
            ]
        )
        OutboxEvent.objects.filter(id__in=[row.id for row in rows]).update(
            published_at=timezone.now(), publications=F("publications") + 1
        )
    return len(rows)


class Relay:
    """Holds the publisher; makes a new one after a failure."""

    def __init__(self, bus: EventBus) -> None:
        self.bus = bus
        self.publisher: Publisher | None = None

    def step(self) -> bool:
        if not OutboxEvent.objects.filter(published_at__isnull=True).exists():
            return False
        if self.publisher is None:
            self.bus.ensure_topics(TOPICS)
            self.publisher = self.bus.publisher()
        try:
            return relay_once(self.publisher) > 0
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self.publisher is not None:
            publisher, self.publisher = self.publisher, None
            publisher.close()


def main() -> None:
    stop = stop_on_signals()
    relay = Relay(load("event_bus"))
    repeat("the relay", relay.step, stop, idle_seconds=0.2)
    relay.close()
