"""The event bus with its order of steps turned round, to prove that the drill would notice.

`publish` says that all is acknowledged before anything was sent, so the relay marks rows that may never go out; `poll` commits the
offsets before the caller has kept the messages, so a death in between leaves events that nobody reads again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from ingestion.seams.event_bus import BusUnavailable, Message
from ingestion.seams.event_bus.kafka import KafkaBus, KafkaPublisher, KafkaSubscription

BEFORE_SENDING = 3.0  # seconds in which a death loses what was said to be sent


class HastyBus(KafkaBus):
    """For drills alone."""

    def publisher(self) -> HastyPublisher:
        return HastyPublisher(super().publisher())

    def subscribe(self, group: str, topics: Sequence[str]) -> HastySubscription:
        return HastySubscription(self.client, group, topics)


class HastyPublisher:
    """Acknowledges at once and sends later, from a thread."""

    def __init__(self, real: KafkaPublisher) -> None:
        self.real = real

    def publish(self, messages: Sequence[Message]) -> None:
        threading.Thread(target=self._later, args=(list(messages),), daemon=True).start()

    def _later(self, messages: list[Message]) -> None:
        time.sleep(BEFORE_SENDING)
        try:
            self.real.publish(messages)
        except BusUnavailable:
            return  # the rows are marked as published already: this is the loss

    def close(self) -> None:
        self.real.close()


class HastySubscription(KafkaSubscription):
    """Commits what it hands out before anybody has kept it."""

    def poll(self, seconds: float, limit: int) -> list[Message]:
        messages = super().poll(seconds, limit)
        if messages:
            super().commit()
        return messages
