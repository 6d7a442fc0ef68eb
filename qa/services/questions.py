"""Asking: a question becomes a run, and a run is a job on the `answer` queue."""

from __future__ import annotations

import logging
import secrets
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from ingestion.models import Corpus, Document, User
from ingestion.seams import load
from ingestion.seams.task_queue import QueueUnavailable
from ingestion.selectors.as_of import NotAnAuditor, moment_for
from ingestion.services.audit import audit_append
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


@transaction.atomic
def question_ask_as_of(
    *, auditor: User, person: User, at: datetime, corpus_slug: str, text: str, document_id: UUID | None = None, seed: int | None = None
) -> Run:
    """A question by an auditor about a moment of the past: what this person could have been answered then.

    The looking itself is an entry of the audit chain, made before anything is read. Raises `QuestionRefused` for who is no auditor of
    the person's organisation, and for a moment that has not been.
    """
    if at > timezone.now():
        raise QuestionRefused("The moment is in the future.")
    try:
        moment_for(auditor, person, at)
    except NotAnAuditor as error:
        raise QuestionRefused("Only an auditor of the person's organisation may ask as of a moment.") from error
    run = question_ask(user=auditor, corpus_slug=corpus_slug, text=text, document_id=document_id, seed=seed)
    run.as_of, run.as_of_person = at, person
    run.save(update_fields=["as_of", "as_of_person"])
    audit_append(
        organisation=run.question.organisation, act="question.as_of", subject=str(run.id), actor=str(auditor.id),
        body={"for": str(person.id), "at": at.isoformat(), "corpus": str(run.question.corpus_id or ""), "document": str(document_id or "")},
        payloads={"question": run.question.text},
    )  # fmt: skip
    return run


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
