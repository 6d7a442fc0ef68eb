"""Questions are kept for a time only: their texts go, verdicts, scores and hashes stay in the chain."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from ingestion.models import Organisation
from ingestion.services.audit import audit_append, payloads_erase_of
from qa.models import Answer, Question, Round, Run, RunPin, RunState

ERASED = "(erased: kept for a time only)"
BATCH = 100


def questions_old(organisation: Organisation, before: datetime) -> QuerySet[Question]:
    """Questions asked before then, whose runs have all ended and whose texts are still there."""
    going_on = Run.objects.filter(question=OuterRef("pk"), state__in=[RunState.WAITING, RunState.RUNNING])
    return Question.objects.filter(organisation=organisation, asked_at__lt=before).exclude(text=ERASED).exclude(Exists(going_on))


@transaction.atomic
def questions_forget(*, organisation: Organisation, before: datetime, actor: str, limit: int = BATCH) -> int:
    """Erase the texts of a batch of questions, wherever they stand; the audit chain stays whole. Returns how many questions."""
    questions = list(questions_old(organisation, before).select_for_update(skip_locked=True, of=("self",)).order_by("id")[:limit])
    if not questions:
        return 0
    runs = [str(run) for run in Run.objects.filter(question__in=questions).values_list("id", flat=True)]
    erased = payloads_erase_of(organisation=organisation, subjects=runs, why="retention", actor=actor)
    Round.objects.filter(run_id__in=runs).update(texts={})
    Answer.objects.filter(run_id__in=runs).delete()
    RunPin.objects.filter(run_id__in=runs).delete()
    Question.objects.filter(id__in=[question.id for question in questions]).update(text=ERASED)
    audit_append(
        organisation=organisation, act="retention.applied", subject="questions", actor=actor,
        body={"count": len(questions), "before": before.isoformat(), "payloads": erased},
    )  # fmt: skip
    return len(questions)
