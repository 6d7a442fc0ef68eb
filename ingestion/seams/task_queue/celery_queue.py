"""The task queue over Celery."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from celery import Celery
from django.utils.module_loading import import_string
from kombu.exceptions import OperationalError

from ingestion.seams.task_queue import QueueUnavailable

HIGHEST = 9


class CeleryQueue:
    """`application` is the dotted path of the Celery application, which the workers own."""

    def __init__(self, application: str = "workers.app.app") -> None:
        self._path = application

    @cached_property
    def application(self) -> Celery:
        found = import_string(self._path)
        assert isinstance(found, Celery)
        return found

    def enqueue(self, task: str, arguments: Sequence[str], queue: str, priority: int = 5) -> None:
        if self.application.connection().transport.driver_type == "redis":
            priority = HIGHEST - priority  # Redis takes the lowest number first, RabbitMQ the highest
        try:
            self.application.send_task(
                task, args=list(arguments), queue=queue, priority=priority, ignore_result=True, retry=False
            )
        except OperationalError as error:
            raise QueueUnavailable(str(error)) from error
