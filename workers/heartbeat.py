"""A worker says which queues it listens to, while it is connected to the broker: rows that console, doctor and health look at."""

from __future__ import annotations

import threading
from typing import Any

from celery import bootsteps
from django.conf import settings
from django.db import DatabaseError, connections

from ingestion.services.heartbeats import worker_left, worker_seen
from workers.loop import repeat


class Heartbeat(bootsteps.StartStopStep):
    """Begins when the worker takes tasks, and ends when it stops or loses the broker: one that cannot hear does not listen."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, consumer: Any, **_options: Any) -> None:
        self.stopping: threading.Event | None = None
        self.thread: threading.Thread | None = None

    def start(self, consumer: Any) -> None:
        name, pool = consumer.hostname, consumer.pool
        queues = sorted(queue.name for queue in consumer.task_consumer.queues)
        stopping = threading.Event()

        def beat() -> bool:
            worker_seen(name=name, queues=queues, processes=getattr(pool, "num_processes", 1) or 1)
            connections.close_all()
            return False

        self.stopping = stopping
        self.thread = threading.Thread(
            target=repeat, args=("the heartbeat", beat, stopping, float(settings.WORK["HEARTBEAT_SECONDS"])), daemon=True
        )
        self.thread.start()

    def stop(self, consumer: Any) -> None:
        if self.stopping is None or self.thread is None:
            return
        self.stopping.set()
        self.thread.join(timeout=10)
        try:
            worker_left(name=consumer.hostname)
        except DatabaseError:
            pass  # its silence will tell
        finally:
            connections.close_all()

    terminate = stop
