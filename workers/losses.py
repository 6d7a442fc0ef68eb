"""What became of a task whose process died or was killed: written down at once, from the process that survived it.

Without this a killed process would be known by its expired lease alone, and why it died would be lost.
"""

from __future__ import annotations

import logging
import re
import socket
from typing import Any
from uuid import UUID

from billiard.exceptions import WorkerLostError
from celery.worker.request import Request
from django.conf import settings
from django.db import DatabaseError, connection

from ingestion.domain.errors import IngestionError, failure
from ingestion.services.jobs import run_lost
from ingestion.services.offers import RUN_STAGE_TASK
from qa.services.questions import RUN_QUESTION_TASK
from qa.services.questions import run_lost as question_run_lost

logger = logging.getLogger(__name__)

SIGNAL = re.compile(r"signal (\d+)")


def process_name(pid: int) -> str:
    """Who holds a lease, for people who look."""
    return f"{socket.gethostname()}:{pid}"


class WatchedRequest(Request):
    """A task as the worker's main process sees it."""

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> Any:
        error = exc_info.exception
        error = getattr(error, "exc", error)
        if isinstance(error, WorkerLostError):
            found = SIGNAL.search(str(error))
            number = int(found.group(1)) if found else None
            detail = f"signal {number}" if number else str(error)[:100]
            self._note(failure("worker_killed" if number == 9 else "worker_lost", detail), number)
        return super().on_failure(exc_info, send_failed_event, return_ok)

    def on_timeout(self, soft: bool, timeout: float) -> Any:
        if not soft:
            self._note(failure("stage_timeout", f"its process was stopped after {timeout:.0f} seconds"), None)
        return super().on_timeout(soft, timeout)

    def _note(self, error: IngestionError, number: int | None) -> None:
        subject = UUID(self.args[0])
        try:
            if self.name == RUN_STAGE_TASK:
                run_lost(subject, process_name(self.worker_pid), error, settings.PIPELINE["MAX_ATTEMPTS"], number)
            elif self.name == RUN_QUESTION_TASK:
                question_run_lost(subject, error.code)
        except DatabaseError:
            # the lease runs out and the sweeper gives the run back, without the signal
            logger.exception("the loss of %s could not be written down", subject)
        finally:
            connection.close()
