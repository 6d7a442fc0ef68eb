"""Tasks: an identifier in, a service called. All that matters is in the database, so a task may run twice or never."""

from __future__ import annotations

import os
from uuid import UUID

from celery import shared_task

from ingestion.services.offers import RUN_STAGE_TASK
from ingestion.services.pipeline import stage_run_execute
from qa.services.answering import run_execute
from qa.services.questions import RUN_QUESTION_TASK
from workers.losses import process_name

WATCHED = "workers.losses:WatchedRequest"


@shared_task(name=RUN_STAGE_TASK, Request=WATCHED)
def run_stage(stage_run: str) -> None:
    stage_run_execute(UUID(stage_run), process_name(os.getpid()))


@shared_task(name=RUN_QUESTION_TASK, Request=WATCHED)
def run_question(run: str) -> None:
    run_execute(UUID(run))
