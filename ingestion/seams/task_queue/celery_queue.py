"""The task queue over Celery."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from amqp.exceptions import NotFound
from celery import Celery
from django.utils.module_loading import import_string
from kombu.exceptions import OperationalError

from ingestion.seams.task_queue import QueueUnavailable

HIGHEST = 9
CONNECT_SECONDS = 3.0
# The stage's own deadline comes first; then the task is asked to stop, and at last its process is killed.
SETTLE_SECONDS, STOP_SECONDS = 20, 60


class CeleryQueue:
    """`application` is the dotted path of the Celery application, which the workers own."""

    def __init__(self, application: str = "workers.app.app") -> None:
        self._path = application

    @cached_property
    def application(self) -> Celery:
        found = import_string(self._path)
        assert isinstance(found, Celery)
        return found

    def enqueue(
        self, task: str, arguments: Sequence[str], queue: str, priority: int = 5, seconds: int | None = None
    ) -> None:
        if self._is_redis:
            priority = HIGHEST - priority  # Redis takes the lowest number first, RabbitMQ the highest
        limits = {} if seconds is None else {"soft_time_limit": seconds + SETTLE_SECONDS, "time_limit": seconds + STOP_SECONDS}
        try:
            self.application.send_task(
                task, args=list(arguments), queue=queue, priority=priority, ignore_result=True, retry=False, **limits
            )
        except OperationalError as error:
            raise QueueUnavailable(str(error)) from error

    def depth(self, queue: str) -> int:
        with self.application.connection_or_acquire() as connection:
            try:
                connection.ensure_connection(max_retries=1, timeout=CONNECT_SECONDS)
                channel = connection.default_channel
                if not self._is_redis:
                    return int(channel.queue_declare(queue, passive=True).message_count)
                # a list for each priority; what a worker has fetched and not acknowledged is not in them
                return sum(channel.client.llen(channel._q_for_pri(queue, step)) for step in channel.priority_steps)
            except NotFound:
                return 0  # nobody has made the queue yet
            except (OperationalError, *connection.connection_errors) as error:
                raise QueueUnavailable(str(error)) from error

    @property
    def _is_redis(self) -> bool:
        return self.application.connection().transport.driver_type == "redis"
