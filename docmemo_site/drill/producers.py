"""By which door a drill sends: the product's outbox, or as an outside producer straight to the topic.

Both keep `sent`, the list that the oracle works from, and both send again until they know that an event is on its way: an event in the
outbox is committed, an event on the topic is acknowledged by the brokers.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from docmemo_site.drill.consistency import letter_causes
from docmemo_site.drill.generator import Poison, Sent, Step, envelope
from docmemo_site.drill.patience import patiently
from ingestion.domain.events import DOCUMENTS_TOPIC, document_key
from ingestion.domain.ids import new_id
from ingestion.models import Corpus, OutboxEvent
from ingestion.seams.event_bus import BusUnavailable, Message
from ingestion.seams.event_bus.kafka import KafkaBus, KafkaPublisher
from ingestion.services.documents import blob_store, document_submit

logger = logging.getLogger(__name__)

SEND_SECONDS = 180.0


class TopicDoor:
    """Writes messages to the topic and waits until they are acknowledged, over a new connection after each failure."""

    def __init__(self, servers: Sequence[str]) -> None:
        self.bus = KafkaBus(list(servers), {"security_protocol": "PLAINTEXT"}, seconds=10.0)
        self.publisher: KafkaPublisher | None = None

    def put(self, key: bytes | None, value: bytes, seconds: float = SEND_SECONDS) -> bool:
        """True once it is acknowledged; it may then have arrived more than once."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if self.publisher is None:
                    self.publisher = self.bus.publisher()
                self.publisher.publish([Message(DOCUMENTS_TOPIC, key, value)])
                return True
            except BusUnavailable as error:
                logger.info("the broker did not take a message: %s", error)
                self.close()
                time.sleep(0.3)
        return False

    def close(self) -> None:
        if self.publisher is not None:
            publisher, self.publisher = self.publisher, None
            publisher.close()


class Producer(ABC):
    """Sends the steps of a plan; `sent` and `poison` are what was really sent."""

    def __init__(self, corpus: Corpus, servers: Sequence[str]) -> None:
        self.corpus = corpus
        self.servers = servers
        self.door = TopicDoor(servers)
        self.sent: list[Sent] = []
        self.poison: list[Poison] = []

    def step(self, step: Step) -> None:
        """Send what the step says."""
        if step.poison is not None:
            self.poison.append(step.poison)
            self.door.put(step.poison.key, step.poison.value, seconds=20.0)
        elif step.kind == "crowd":
            self.sent += _at_once([lambda e=event: self.send(e, crowd=True) for event in step.events])
        elif step.kind == "again":
            self.again(step.events[0])
        else:
            self.sent.append(self.send(step.events[0]))

    @abstractmethod
    def send(self, event: Sent, crowd: bool = False) -> Sent:
        """Send one event; returns it as it was sent."""

    @abstractmethod
    def again(self, event: Sent) -> None:
        """Send the same event once more."""

    def poison_again(self) -> list[Poison]:
        """Send poison that is not yet a dead letter once more; returns what there was of it. A broker may have forgotten it."""
        known = patiently(letter_causes)
        missing = [one for one in self.poison if one.name not in known]
        for one in missing:
            self.door.put(one.key, one.value, seconds=10.0)
        return missing

    def close(self) -> None:
        self.door.close()


class OutboxProducer(Producer):
    """Every event is a committed row of the outbox. Crowds go through `document_submit`, as twenty people would.

    Rows go out in the order of their ids, which grow with time: an event gets its id when it is sent, not when it was planned.
    """

    def __init__(self, corpus: Corpus, servers: Sequence[str]) -> None:
        super().__init__(corpus, servers)
        self.row_of: dict[str, UUID] = {}

    def send(self, event: Sent, crowd: bool = False) -> Sent:
        if crowd:
            return patiently(lambda: self._submit(event))
        row_id = self.row_of[event.id] = new_id()
        numbered = dataclasses.replace(event, id=str(row_id))
        patiently(lambda: self._row(row_id, numbered))
        return numbered

    def _submit(self, event: Sent) -> Sent:
        access = event.access
        event_id = document_submit(
            organisation=self.corpus.organisation, actor="drill", corpus=self.corpus, external_id=event.external_id,
            content=event.pdf or b"", file_name=event.external_id, allow=access.allow if access else None,
            deny=access.deny if access else (), keep_access=access is None, source="drill",
        )  # fmt: skip
        payload = OutboxEvent.objects.values_list("payload", flat=True).get(id=event_id)
        return dataclasses.replace(event, id=str(event_id), type=payload["type"], revision=payload["sequence"])

    def _row(self, row_id: UUID, event: Sent) -> None:
        content: dict[str, Any] | None = None
        if event.pdf is not None:
            blob = blob_store(self.corpus.organisation, event.pdf)
            content = {"blob": {"sha256": blob.sha256, "bytes": blob.bytes}}
        row = {
            "topic": DOCUMENTS_TOPIC,
            "key": document_key(self.corpus.slug, event.external_id),
            "type": event.type,
            "payload": envelope(event, content),
        }
        OutboxEvent.objects.get_or_create(id=row_id, defaults=row)

    def again(self, event: Sent) -> None:
        """As a relay does that died between publishing and marking."""
        patiently(lambda: OutboxEvent.objects.filter(id=self.row_of[event.id]).update(published_at=None))


class TopicProducer(Producer):
    """A registered source of the outside: inline content, written to the topic and acknowledged."""

    def send(self, event: Sent, crowd: bool = False) -> Sent:
        door = TopicDoor(self.servers) if crowd else self.door
        content = None if event.pdf is None else {"content_base64": base64.b64encode(event.pdf).decode()}
        value = json.dumps(envelope(event, content)).encode()
        if not door.put(document_key(self.corpus.slug, event.external_id).encode(), value):
            raise BusUnavailable(f"no broker took event {event.id} within {SEND_SECONDS:.0f} seconds")
        if crowd:
            door.close()
        return event

    def again(self, event: Sent) -> None:
        self.send(event)


def _at_once(calls: Sequence[Any]) -> list[Sent]:
    """What the calls return, made from threads that set off together."""
    gate = threading.Barrier(len(calls))
    found: list[Sent] = []

    def one(call: Any) -> None:
        gate.wait()
        found.append(call())
        connection.close()

    threads = [threading.Thread(target=one, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found
