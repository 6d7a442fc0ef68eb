"""Asking: a question becomes a run, and a run is a job on the `answer` queue."""

from __future__ import annotations

import logging
import secrets
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
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
MAX_ATTEMPTS = 3
OFFER_AGAIN_AFTER = timedelta(seconds=20)
NEVER_OFFERED_AFTER = timedelta(seconds=5)


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
    """Hand a waiting run to the `answer` queue; what the queue has no room for or does not take, the sweeper offers again."""
    queue, limits = load("task_queue"), settings.WORK
    try:
        if queue.depth("answer") >= limits["BACKLOG"]["answer"]:
            return False
        Run.objects.filter(id=run.id).update(offered_at=timezone.now())
        queue.enqueue(RUN_QUESTION_TASK, [str(run.id)], "answer", priority=8, seconds=limits["QUESTION_SECONDS"])
    except QueueUnavailable as error:
        logger.warning("the task queue did not take run %s: %s", run.id, error)
        return False
    return True


def runs_recover() -> int:
    """Offer runs again that nobody took, and give back or end those whose worker was lost; returns how many."""
    now = timezone.now()
    lost_after = timedelta(seconds=settings.WORK["QUESTION_SECONDS"] + settings.WORK["STOP_SECONDS"])
    lost = Run.objects.filter(state=RunState.RUNNING, started_at__lt=now - lost_after).values_list("id", flat=True)
    count = 0
    for run_id in list(lost[:100]):
        count += run_lost(run_id, "worker_lost")
        run_offer_waiting(run_id)
    waiting = Run.objects.filter(state=RunState.WAITING).filter(
        Q(offered_at__lt=now - OFFER_AGAIN_AFTER) | Q(offered_at__isnull=True, created_at__lt=now - NEVER_OFFERED_AFTER)
    )
    for run in waiting.order_by("created_at")[:100]:
        count += run_offer(run)
    return count


def runs_give_back() -> int:
    """Let every open run wait again and be offered anew, since no worker holds any (after a restore); returns how many."""
    cut_off = Run.objects.filter(state=RunState.RUNNING).update(state=RunState.WAITING, started_at=None)
    Run.objects.filter(state=RunState.WAITING).update(offered_at=timezone.now() - OFFER_AGAIN_AFTER)
    return cut_off
def run_offer_waiting(run_id: UUID) -> None:
    """Offer the run at once where it waits: what was given back need not wait for the patience with lost offers."""
    for run in Run.objects.filter(id=run_id, state=RunState.WAITING):
        run_offer(run)


@transaction.atomic
def run_lost(run_id: UUID, kind: str) -> bool:
    """The worker of a run is gone: it waits for another one, until it has taken `MAX_ATTEMPTS` workers with it and fails."""
    run = Run.objects.select_for_update(of=("self",)).select_related("question__organisation").filter(id=run_id).first()
    if run is None or run.state != RunState.RUNNING:
        return False
    if run.attempts < MAX_ATTEMPTS:
        Run.objects.filter(id=run.id).update(state=RunState.WAITING, started_at=None)
        return True
    Run.objects.filter(id=run.id).update(state=RunState.FAILED, reason="broken", finished_at=timezone.now())
    audit_append(
        organisation=run.question.organisation, act="question.failed", subject=str(run.id), actor=str(run.question.asker_id),
        body={"kind": kind},
    )  # fmt: skip
    return True
