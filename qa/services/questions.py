"""Asking: a question becomes a run, and a run is a job on the `answer` queue."""

from __future__ import annotations

import logging
import secrets
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from ingestion.models import Corpus, Document, User
from ingestion.seams import load
from ingestion.seams.task_queue import QueueUnavailable
from qa.models import Question, Run, RunState

logger = logging.getLogger(__name__)

RUN_QUESTION_TASK = "docmemo.run_question"
MAX_QUESTION_CHARACTERS = 1000
LOST_AFTER = timedelta(minutes=15)
OFFER_AGAIN_AFTER = timedelta(seconds=20)


class QuestionRefused(ValueError):
    """The question is empty or too long."""


@transaction.atomic
def question_ask(
    *, user: User, corpus_slug: str, text: str, document_id: UUID | None = None, seed: int | None = None
) -> Run:
    """Keep the question and a waiting run. A corpus or document that is absent takes the same path as one that is forbidden.

    Raises `QuestionRefused` for a text that is empty or longer than `MAX_QUESTION_CHARACTERS`.
    """
    text = " ".join(text.replace("\x00", "").split())
    if not text or len(text) > MAX_QUESTION_CHARACTERS:
        raise QuestionRefused(f"A question has between 1 and {MAX_QUESTION_CHARACTERS} characters.")
    if user.organisation is None:
        raise QuestionRefused("The person belongs to no organisation.")
    corpus = Corpus.objects.filter(organisation=user.organisation, slug=corpus_slug[:100]).first()
    document = Document.objects.filter(organisation=user.organisation, id=document_id).first() if document_id else None
    question = Question.objects.create(
        organisation=user.organisation,
        asker=user,
        corpus=corpus,
        corpus_slug=corpus_slug[:100],
        document=document,
        document_asked=document_id,
        text=text,
    )
    return Run.objects.create(question=question, seed=secrets.randbits(62) if seed is None else seed)


def run_offer(run: Run) -> bool:
    """Hand a waiting run to the `answer` queue; what the queue does not take, the sweeper offers again."""
    Run.objects.filter(id=run.id).update(offered_at=timezone.now())
    try:
        load("task_queue").enqueue(RUN_QUESTION_TASK, [str(run.id)], "answer", priority=8)
    except QueueUnavailable as error:
        logger.warning("the task queue did not take run %s: %s", run.id, error)
        return False
    return True


def runs_recover() -> int:
    """Offer runs again that nobody took, and give back those whose worker was lost; returns how many."""
    now = timezone.now()
    lost = Run.objects.filter(state=RunState.RUNNING, started_at__lt=now - LOST_AFTER)
    lost.update(state=RunState.WAITING, started_at=None)
    waiting = Run.objects.filter(state=RunState.WAITING, offered_at__lt=now - OFFER_AGAIN_AFTER)
    count = 0
    for run in waiting[:100]:
        count += run_offer(run)
    return count


def runs_give_back() -> int:
    """Let every open run wait again and be offered anew, since no worker holds any (after a restore); returns how many."""
    cut_off = Run.objects.filter(state=RunState.RUNNING).update(state=RunState.WAITING, started_at=None)
    Run.objects.filter(state=RunState.WAITING).update(offered_at=timezone.now() - OFFER_AGAIN_AFTER)
    return cut_off
