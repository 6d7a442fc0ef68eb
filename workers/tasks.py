"""Tasks: an identifier in, a service called. All that matters is in the database, so a task may run twice or never."""

from __future__ import annotations

import logging
import os
import socket
from uuid import UUID

from celery import shared_task

from ingestion.selectors.schema import watch
from ingestion.services.jobs import RUN_STAGE_TASK
from ingestion.services.pipeline import stage_run_execute
from ingestion.services.purge import RUN_PURGE_TASK, document_purge
from qa.services.answering import run_execute
from qa.services.questions import RUN_QUESTION_TASK

logger = logging.getLogger(__name__)


def code_fits() -> bool:
    """Whether this worker may work; one whose code does not fit the database leaves the work in the database.

    Work that was left is offered again by the sweeper.
    """
    gap = watch.look()
    if not gap:
        return True
    logger.error("a task was left undone: %s", gap.sentence)
    return False


def worker_name() -> str:
    """Who holds a lease, for people who look."""
    return f"{socket.gethostname()}:{os.getpid()}"


@shared_task(name=RUN_STAGE_TASK)
def run_stage(stage_run: str) -> None:
    if code_fits():
        stage_run_execute(UUID(stage_run), worker_name())


@shared_task(name=RUN_QUESTION_TASK)
def run_question(run: str) -> None:
    if code_fits():
        run_execute(UUID(run))


@shared_task(name=RUN_PURGE_TASK)
def run_purge(purge: str) -> None:
    if code_fits():
        document_purge(UUID(purge))
