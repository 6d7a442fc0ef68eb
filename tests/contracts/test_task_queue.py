"""The contract of the task queue, on the fake and on a real Celery application with a real broker and a real worker."""

from __future__ import annotations

from pathlib import Path

import pytest
from celery import Celery
from celery.contrib.testing.worker import start_worker

from ingestion.seams.task_queue import QueueUnavailable, TaskQueue
from ingestion.seams.task_queue.celery_queue import CeleryQueue
from ingestion.seams.task_queue.memory import MemoryQueue

application: Celery | None = None


@pytest.fixture
def celery_queue(celery_broker: str) -> tuple[Celery, TaskQueue]:
    global application  # noqa: PLW0603 - the adapter finds its application by its path
    application = Celery("contract", broker=celery_broker)
    application.conf.update(
        task_serializer="json", accept_content=["json"], worker_prefetch_multiplier=1, task_acks_late=True,
        broker_transport_options={"queue_order_strategy": "priority", "priority_steps": list(range(10)), "sep": ":"},
    )  # fmt: skip
    return application, CeleryQueue("tests.contracts.test_task_queue.application")


def test_the_fake_keeps_what_was_offered() -> None:
    queue = MemoryQueue()
    queue.enqueue("t", ["a", "b"], "cpu")
    assert queue.take() == ("t", ("a", "b"), "cpu") and queue.take() is None


def test_a_worker_does_what_was_offered_nine_first(celery_queue: tuple[Celery, TaskQueue], tmp_path: Path) -> None:
    app, queue = celery_queue
    done = tmp_path / "done"

    @app.task(name="contract.note")
    def note(word: str) -> None:
        with done.open("a") as file:
            file.write(word + "\n")

    for word, priority in (("last", 1), ("middle", 5), ("first", 9)):
        queue.enqueue("contract.note", [word], "contract-queue", priority=priority)
    with start_worker(app, perform_ping_check=False, pool="solo", concurrency=1, queues=["contract-queue"]):
        for _ in range(300):
            if done.exists() and len(done.read_text().split()) == 3:
                break
            import time

            time.sleep(0.1)
    assert done.read_text().split() == ["first", "middle", "last"]


def test_a_broker_that_is_away_is_said_to_be() -> None:
    global application  # noqa: PLW0603
    application = Celery("away", broker="redis://127.0.0.1:1/0")
    application.conf.update(broker_transport_options={"socket_connect_timeout": 1}, broker_connection_retry=False)
    with pytest.raises(QueueUnavailable):
        CeleryQueue("tests.contracts.test_task_queue.application").enqueue("t", [], "q")
