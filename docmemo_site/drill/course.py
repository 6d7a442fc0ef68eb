"""The order of a drill: bring everything up, send and break, wait until all is settled, compare with the oracle."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import connection

from docmemo_site.drill import consistency, sightings
from docmemo_site.drill.brokers import Kafka
from docmemo_site.drill.faults import Breaker, everything_runs
from docmemo_site.drill.generator import CORPUS, FOREIGN, ORGANISATION, SOURCE, STRANGERS, Generator, Plan
from docmemo_site.drill.oracle import expectations
from docmemo_site.drill.patience import patiently
from docmemo_site.drill.producers import OutboxProducer, Producer, TopicProducer
from docmemo_site.drill.report import Report
from docmemo_site.embedded import control, process
from docmemo_site.embedded.home import Home
from ingestion.domain.events import EVENTS_TOPIC
from ingestion.models import Corpus, InboxEvent, Organisation, StageRun
from ingestion.seams.event_bus.kafka import KafkaBus
from ingestion.services.corpora import corpus_create
from ingestion.services.documents import blob_store, source_ensure
from workers.relay import TOPICS

logger = logging.getLogger(__name__)

STILL_SECONDS = 60.0  # nothing moved for so long: it never will
FORGETFUL_SECONDS = 200.0  # with a broker that forgets, an event is waited for twice as long each time it is sent again
SETTLE_SECONDS = 900.0  # what still moves after so long goes round in circles
QUIET_SECONDS = 3.0  # nothing is left to do for so long: it is the end


@dataclass(frozen=True)
class Wish:
    """What was asked for."""

    documents: int
    faults: int
    seed: int
    bus: str
    pace: float = 0.02  # seconds between two sends


class Stream(threading.Thread):
    """Sends the plan in parts, each when it is told to, from a thread of its own."""

    def __init__(self, producer: Producer, plan: Plan, parts: int, pace: float) -> None:
        super().__init__(name="producer", daemon=True)
        self.producer, self.plan, self.parts, self.pace = producer, plan, parts, pace
        self.go = threading.Semaphore(0)
        self.done = 0
        self.broke: BaseException | None = None

    def run(self) -> None:
        size = len(self.plan.steps)
        try:
            for part in range(self.parts):
                self.go.acquire()
                for step in self.plan.steps[size * part // self.parts : size * (part + 1) // self.parts]:
                    self.producer.step(step)
                    self.done += 1
                    time.sleep(self.pace)
        except BaseException as error:
            self.broke = error  # raised again where the drill waits for this thread
            raise
        finally:
            connection.close()
            self.producer.close()

    def finish(self) -> None:
        """Wait for the last part; raises what broke the thread."""
        self.join()
        if self.broke is not None:
            raise self.broke


class Course:
    """One drill in one home. `say` takes a line of progress."""

    def __init__(self, home: Home, wish: Wish, brokers: Kafka | None, say: Callable[[str], None]) -> None:
        self.home, self.wish, self.brokers, self.say = home, wish, brokers, say

    def run(self) -> Report:
        """The whole drill; what it started is stopped whatever happens."""
        began = time.monotonic()
        try:
            control.up(self.home, say=self.say)
            corpus = self._prepare()
            KafkaBus(settings.KAFKA_BOOTSTRAP_SERVERS, settings.KAFKA_SECURITY).ensure_topics(TOPICS)
            producer = self._producer(corpus)
            breaker = Breaker(self.home, self.wish.seed, self.brokers)
            self._send_and_break(producer, breaker)
            self._settle(producer)
            producer.close()
            return self._report(corpus, producer, breaker, began)
        finally:
            connection.close()
            self.say("stopping")
            control.down(self.home)

    def _prepare(self) -> Corpus:
        organisation = Organisation.objects.create(slug=ORGANISATION, name="Drill")
        blob_store(Organisation.objects.create(slug=STRANGERS, name="Strangers"), FOREIGN)
        source_ensure(organisation, SOURCE)
        return corpus_create(actor="drill", organisation=organisation, slug=CORPUS, allow=["staff", "legal", "board", "finance"])

    def _producer(self, corpus: Corpus) -> Producer:
        kind = OutboxProducer if self.brokers is None else TopicProducer
        return kind(corpus, settings.KAFKA_BOOTSTRAP_SERVERS)

    def _send_and_break(self, producer: Producer, breaker: Breaker) -> None:
        """A part of the plan, a fault into it, and so on; the last part meets what the faults left."""
        plan = Generator(self.wish.seed, self.wish.documents).plan()
        kinds = breaker.schedule(self.wish.faults) if self.wish.faults else []
        stream = Stream(producer, plan, len(kinds) + 1, self.wish.pace)
        stream.start()
        for number, kind in enumerate(kinds, start=1):
            stream.go.release()
            time.sleep(breaker.draw.uniform(0.05, 0.5))
            fault = breaker.strike(kind)
            self.say(f"fault {number} of {len(kinds)}: {fault.kind}: {fault.interrupted}")
        stream.go.release()
        stream.finish()

    def _settle(self, producer: Producer) -> None:
        """Wait until nothing is left to do, or until nothing moves any more."""
        self.say("all is sent; waiting until all is settled")
        began = moved = time.monotonic()
        before, quiet_since, poison_at = "", None, 0.0
        bound = FORGETFUL_SECONDS if self.brokers is None else STILL_SECONDS
        while time.monotonic() - moved < bound and time.monotonic() - began < SETTLE_SECONDS:
            now = patiently(lambda: self._standing(producer))
            if now != before:
                before, moved = now, time.monotonic()
            if self.brokers is None and time.monotonic() - poison_at > 10:
                poison_at = time.monotonic()
                producer.poison_again()
            settled = patiently(lambda: self._settled(producer))
            quiet_since = (quiet_since or time.monotonic()) if settled else None
            if quiet_since is not None and time.monotonic() - quiet_since > QUIET_SECONDS:
                return
            time.sleep(0.5)
        self.say(f"not settled after {time.monotonic() - began:.0f} seconds, unmoved for {time.monotonic() - moved:.0f}: {before}")

    def _standing(self, producer: Producer) -> str:
        done = StageRun.objects.filter(state="done").count()
        return f"{sightings.waiting()}, {done} done, {InboxEvent.objects.count()} events of {len(producer.sent)}"

    def _settled(self, producer: Producer) -> bool:
        ids = {event.id for event in producer.sent}
        arrived = set(InboxEvent.objects.values_list("event_id", flat=True))
        if ids - arrived or {one.name for one in producer.poison} - set(consistency.letter_causes()):
            return False
        return not consistency.stuck()

    def _report(self, corpus: Corpus, producer: Producer, breaker: Breaker, began: float) -> Report:
        runs = process.wait_until(lambda: everything_runs(self.home), seconds=90, pause=0.5)
        expected = expectations(producer.sent)
        findings = consistency.compare(corpus, Path(settings.DOCMEMO_HOME) / "blobs", producer.sent, expected)
        if not runs:
            findings.stuck.append(f"not everything runs: {control.status(self.home).processes}")
        if self.brokers is not None:
            bus = KafkaBus(settings.KAFKA_BOOTSTRAP_SERVERS, settings.KAFKA_SECURITY)
            findings.lost.extend(consistency.announcements_lost(message.value for message in bus.read_all(EVENTS_TOPIC)))
        letters, wrong = consistency.dead_letters(producer.poison)
        return Report(
            bus=self.wish.bus, seed=self.wish.seed, documents=self.wish.documents, events=len({e.id for e in producer.sent}),
            effects=consistency.effects(corpus, producer.sent), findings=findings, poison=len(producer.poison), dead_letters=letters,
            faults=breaker.log, seconds=time.monotonic() - began, without=settings.DRILL_WITHOUT, poison_left=wrong,
        )  # fmt: skip
