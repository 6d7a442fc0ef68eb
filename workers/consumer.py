"""Kafka -> inbox: each message is kept in the database before its offset is committed, then put into effect."""

from __future__ import annotations

import logging

from ingestion.domain.events import DOCUMENTS_TOPIC
from ingestion.seams import load
from ingestion.seams.event_bus import EventBus, Subscription
from ingestion.services.events import event_apply, event_receive
from workers.loop import repeat, stop_on_signals
from workers.relay import TOPICS

logger = logging.getLogger(__name__)

GROUP = "docmemo-ingestion"
BATCH = 50


class Consumer:
    """Holds the subscription; makes a new one after a failure, and reads again from what was committed."""

    def __init__(self, bus: EventBus) -> None:
        self.bus = bus
        self.subscription: Subscription | None = None

    def step(self) -> bool:
        """Take in one batch: inbox rows first, then the offsets, then the effects."""
        try:
            if self.subscription is None:
                self.bus.ensure_topics(TOPICS)
                self.subscription = self.bus.subscribe(GROUP, [DOCUMENTS_TOPIC])
            messages = self.subscription.poll(seconds=0.5, limit=BATCH)
            received = [event_receive(message) for message in messages]
            if messages:
                self.subscription.commit()
        except BaseException:
            self.close()
            raise
        for inbox_id in received:
            if inbox_id is not None:
                event_apply(inbox_id)
        return bool(messages)

    def close(self) -> None:
        if self.subscription is not None:
            subscription, self.subscription = self.subscription, None
            subscription.close()


def main() -> None:
    stop = stop_on_signals()
    consumer = Consumer(load("event_bus"))
    repeat("the consumer", consumer.step, stop, idle_seconds=0.05)
    consumer.close()
