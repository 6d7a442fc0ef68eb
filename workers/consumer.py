"""Kafka -> inbox -> effect. The poll loop keeps each message in the database and commits its offset, and does nothing else.

A second thread puts kept events into effect. A poll that did the work as well would leave its group when the work takes long. When
many events wait, the subscription pauses until there is room: the backlog stays in the broker, where it is bounded by nobody's memory.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time

from django.conf import settings
from django.db import DatabaseError

from ingestion.domain.events import INTAKE_TOPICS
from ingestion.domain.lifecycle import InboxState
from ingestion.models import InboxEvent
from ingestion.seams import load
from ingestion.seams.event_bus import EventBus, Subscription
from ingestion.services.events import event_apply, event_receive
from ingestion.services.heartbeats import worker_left, worker_seen
from workers.loop import repeat, stop_on_signals
from workers.losses import process_name
from workers.relay import TOPICS

logger = logging.getLogger(__name__)

GROUP = "docmemo-ingestion"
BATCH = 50
FULL, ROOM = 2000, 1000  # unsettled events at which the intake pauses, and goes on


class Intake:
    """Holds the subscription; makes a new one after a failure, and reads again from what was committed."""

    def __init__(self, bus: EventBus, full: int = FULL, room: int = ROOM) -> None:
        self.bus = bus
        self.full, self.room = full, room
        self.paused = False
        self.subscription: Subscription | None = None
        self.name = f"consumer@{process_name(os.getpid())}"
        self.said = float("-inf")

    def step(self) -> bool:
        """Take in one batch: inbox rows first, then the offsets."""
        try:
            if self.subscription is None:
                self.bus.ensure_topics(TOPICS)
                self.subscription = self.bus.subscribe(GROUP, INTAKE_TOPICS)
                self.paused = False
            self._say(self.subscription)
            self._hold_back(self.subscription)
            messages = self.subscription.poll(seconds=0.5, limit=BATCH)
            for message in messages:
                event_receive(message)
            if messages:
                self.subscription.commit()
        except BaseException:
            self.close()
            raise
        return bool(messages)

    def _say(self, subscription: Subscription) -> None:
        """Now and then: this consumer is there, and so much waits for it in the broker."""
        if time.monotonic() >= self.said + settings.WORK["HEARTBEAT_SECONDS"]:
            worker_seen(name=self.name, queues=[], processes=1, lag=subscription.lag())
            self.said = time.monotonic()

    def _hold_back(self, subscription: Subscription) -> None:
        waiting = InboxEvent.objects.filter(state=InboxState.RECEIVED)[: self.full].count()
        if not self.paused and waiting >= self.full:
            logger.warning("%s events wait to be put into effect: the intake pauses", waiting)
            subscription.pause()
            self.paused = True
        elif self.paused and waiting <= self.room:
            subscription.resume()
            self.paused = False

    def close(self) -> None:
        if self.subscription is not None:
            subscription, self.subscription = self.subscription, None
            subscription.close()


def apply_received(limit: int = BATCH) -> bool:
    """Put the oldest received events into effect; one that breaks is told and holds no other up. True when there were any."""
    received = InboxEvent.objects.filter(state=InboxState.RECEIVED).order_by("attempts", "received_at")
    moved = 0
    for inbox_id in list(received.values_list("id", flat=True)[:limit]):
        try:
            moved += event_apply(inbox_id) is not InboxState.RECEIVED
        except DatabaseError:
            logger.exception("inbox event %s could not be put into effect now", inbox_id)
    return moved > 0


def main() -> None:
    stop = stop_on_signals()
    applier = threading.Thread(target=repeat, args=("putting events into effect", apply_received, stop, 0.1), name="applier")
    applier.start()
    intake = Intake(load("event_bus"))
    repeat("the consumer", intake.step, stop, idle_seconds=0.05)
    intake.close()
    with contextlib.suppress(DatabaseError):  # its silence will tell
        worker_left(name=intake.name)
    applier.join(timeout=30)
