"""Taking events in: the poll loop does no work, the backlog is bounded, nothing is committed before it is kept, no event counts twice."""

from __future__ import annotations

import base64
import json
import threading
import time
import uuid
from collections import Counter

import pytest
from django.conf import LazySettings
from django.db import OperationalError, connections, transaction

from ingestion.domain.events import DOCUMENTS_TOPIC
from ingestion.models import AuditEntry, DeadLetter, Document, InboxEvent, Job, OutboxEvent, Source
from ingestion.seams.event_bus import Message
from ingestion.seams.event_bus.kafka import KafkaBus
from ingestion.selectors.queues import intake_lag, queue_rows, statements
from ingestion.services.documents import document_submit
from ingestion.services.events import event_apply, event_receive
from tests.ingestion.fakes import Workbench
from workers import consumer
from workers.consumer import Intake, apply_received
from workers.relay import Relay


class ListBus:
    """A bus whose messages are a list; it keeps what was committed."""

    def __init__(self, messages: list[Message]) -> None:
        self.log, self.read, self.committed = messages, 0, 0
        self.paused = self.closed = False

    def ensure_topics(self, topics: object) -> None: ...

    def subscribe(self, group: str, topics: object) -> ListBus:
        self.read, self.closed = self.committed, False
        return self

    def poll(self, seconds: float, limit: int) -> list[Message]:
        if self.paused:
            return []
        polled = self.log[self.read : self.read + limit]
        self.read += len(polled)
        return polled

    def commit(self) -> None:
        self.committed = self.read

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def lag(self) -> int:
        return len(self.log) - self.read

    def close(self) -> None:
        self.closed = True


def events(count: int, start: int = 0) -> list[Message]:
    content = base64.b64encode(b"some text").decode()
    return [
        Message(
            DOCUMENTS_TOPIC, f"library/{n}.pdf".encode(),
            json.dumps({
                "specversion": "1.0", "id": f"e{n}", "source": "/docmemo/acme/upload", "type": "document.created", "sequence": 1,
                "data": {"corpus": "library", "external_id": f"{n}.pdf", "content_base64": content},
            }).encode(), {}, 0, n,
        )
        for n in range(start, start + count)
    ]  # fmt: skip


@pytest.fixture
def source(bench: Workbench) -> Source:
    bench.corpus()
    return Source.objects.create(organisation=bench.cast.organisation, name="upload")


def test_the_poll_loop_keeps_and_commits_and_does_no_work(bench: Workbench, source: Source) -> None:
    bus = ListBus(events(3))
    assert Intake(bus).step()
    assert bus.committed == 3 and set(InboxEvent.objects.values_list("state", flat=True)) == {"received"} and not Job.objects.exists()
    assert apply_received() and Job.objects.count() == 3


def test_a_consumer_says_that_it_is_there_and_what_waits_for_it(bench: Workbench, source: Source, settings: LazySettings) -> None:
    settings.WORK = {**settings.WORK, "HEARTBEAT_SECONDS": 0.0}
    intake = Intake(ListBus(events(120)))
    assert intake_lag() == (0, 0)
    for left in (120, 70, 20, 0):
        intake.step()
        assert intake_lag() == (1, left)
    assert not statements() and {row.workers for row in queue_rows()} == {0}  # it listens to no queue of Celery's


def test_a_backlog_is_bounded_and_goes_on_when_there_is_room(bench: Workbench, source: Source) -> None:
    bus = ListBus(events(200))
    intake = Intake(bus, full=60, room=10)
    for _ in range(6):
        intake.step()
    assert bus.paused and InboxEvent.objects.count() == 100  # a batch is taken whole
    while apply_received():
        assert InboxEvent.objects.filter(state="received").count() <= 100
    for _ in range(6):
        intake.step()
        apply_received()
    assert not bus.paused and InboxEvent.objects.filter(state="applied").count() == 200


def test_an_offset_does_not_move_before_its_event_is_kept(bench: Workbench, source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    bus = ListBus([*events(2), Message(DOCUMENTS_TOPIC, b"k", b"poison", {}, 0, 2)])
    intake = Intake(bus)

    def away(message: Message) -> None:
        raise OperationalError("the database is away")

    with monkeypatch.context() as broken:
        broken.setattr(consumer, "event_receive", away)
        for _ in range(3):
            with pytest.raises(OperationalError):
                intake.step()
    assert bus.committed == 0 and bus.closed
    intake.step()
    assert bus.committed == 3 and InboxEvent.objects.count() == 2 and DeadLetter.objects.get().cause == "not_json"


def test_nothing_is_sent_of_what_was_rolled_back(bench: Workbench) -> None:
    corpus = bench.corpus()
    with pytest.raises(RuntimeError), transaction.atomic():
        document_submit(organisation=bench.cast.organisation, actor="test", corpus=corpus, external_id="a.pdf", content=b"text")
        raise RuntimeError("after the document was handed in")
    assert not OutboxEvent.objects.filter(topic=DOCUMENTS_TOPIC).exists()
    assert not AuditEntry.objects.filter(act="document.updated.sent").exists()


def test_a_crash_between_publishing_and_marking_sends_again_and_has_one_effect(bench: Workbench, kafka_broker: str) -> None:
    bus = KafkaBus([kafka_broker])
    bench.submit("text", external_id=f"{uuid.uuid4().hex}.pdf")
    relay = Relay(bus)
    relay.step()
    OutboxEvent.objects.update(published_at=None)  # what a crash before the commit leaves
    relay.step()
    relay.close()
    intake = Intake(bus)
    deadline = time.monotonic() + 60
    while InboxEvent.objects.count() < 1 and time.monotonic() < deadline:
        intake.step()
    for _ in range(6):
        intake.step()
    intake.close()
    apply_received()
    assert InboxEvent.objects.count() == 1 and Job.objects.count() == 1


def test_scaling_consumers_from_one_to_three_and_back_has_one_effect_an_event(
    bench: Workbench, source: Source, kafka_broker: str
) -> None:
    bus = KafkaBus([kafka_broker])
    total, stops = 240, [threading.Event() for _ in range(3)]
    run = uuid.uuid4().hex[:6]
    publisher = bus.publisher()

    def messages(first: int, last: int) -> list[Message]:
        made = events(last - first, first)
        return [Message(m.topic, m.key.replace(b"library/", f"library/{run}".encode()), m.value.replace(b'"external_id": "', f'"external_id": "{run}'.encode()).replace(b'"id": "', f'"id": "{run}'.encode())) for m in made]  # noqa: E501

    def work(stop: threading.Event) -> None:
        intake = Intake(bus)
        while not stop.is_set():
            intake.step()
            apply_received()
        intake.close()
        connections.close_all()

    def kept() -> int:
        return InboxEvent.objects.filter(event_id__startswith=run).count()

    def wait_for(count: int) -> None:
        deadline = time.monotonic() + 90
        while kept() < count and time.monotonic() < deadline:
            time.sleep(0.2)

    workers = [threading.Thread(target=work, args=(stop,)) for stop in stops]
    workers[0].start()
    publisher.publish(messages(0, 80))
    wait_for(40)
    for worker in workers[1:]:
        worker.start()
    publisher.publish(messages(80, 160))
    wait_for(120)
    stops[0].set()
    stops[1].set()
    workers[0].join()
    workers[1].join()
    publisher.publish(messages(160, total))
    wait_for(total)
    stops[2].set()
    workers[2].join()
    publisher.close()
    apply_received(limit=total)
    assert kept() == total
    effects = Counter(AuditEntry.objects.filter(act="document.created").values_list("subject", flat=True))
    assert len(effects) == total == Document.objects.filter(external_id__startswith=run).count() and set(effects.values()) == {1}


def test_work_is_offered_after_the_commit_and_never_for_what_was_rolled_back(bench: Workbench, source: Source) -> None:
    kept, undone = (event_receive(message) for message in events(2))
    with transaction.atomic():
        event_apply(kept)
        assert bench.queue.offered == []  # a worker that took it now would find no row
    assert len(bench.queue.offered) == 1
    with pytest.raises(RuntimeError), transaction.atomic():
        event_apply(undone)
        raise RuntimeError("after the event was applied")
    assert len(bench.queue.offered) == 1 and Job.objects.count() == 1
