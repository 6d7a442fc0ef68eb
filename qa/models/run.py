"""Questions and their runs."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from ingestion.models import Build, Corpus, Document, DocumentVersion, Organisation
from ingestion.models.base import Identified


class Question(Identified):
    """A question as asked. The text is erasable; the run's audit entry keeps a salted hash."""

    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="questions")
    asker = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="questions")
    # as asked: a corpus that is absent and one that is forbidden take the same path
    corpus_slug = models.CharField(max_length=100)
    corpus = models.ForeignKey(Corpus, on_delete=models.PROTECT, null=True, blank=True, related_name="questions")
    document = models.ForeignKey(Document, on_delete=models.SET_NULL, null=True, blank=True, related_name="questions")
    document_asked = models.UUIDField(null=True, blank=True)  # as asked, whether there is such a document or not
    text = models.TextField()
    asked_at = models.DateTimeField(auto_now_add=True)


class RunState(models.TextChoices):
    """waiting -> running -> done | failed; a run that was cut off is waiting again."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Verdict(models.TextChoices):
    """How a question ends. The four are never merged."""

    ANSWERED = "answered"
    NOT_IN_DOCUMENTS = "not_in_documents"
    NOT_FOUND = "not_found_within_budget"
    NO_READABLE_DOCUMENTS = "no_readable_documents"


class Run(Identified):
    """One attempt at a question: rights at that moment, seed, settings, versions, and how it ended."""

    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="runs")
    state = models.CharField(max_length=8, choices=RunState.choices, default=RunState.WAITING)
    verdict = models.CharField(max_length=24, choices=Verdict.choices, blank=True)
    reason = models.CharField(max_length=64, blank=True)
    seed = models.BigIntegerField()
    tags = models.JSONField(default=list)
    access_epoch = models.BigIntegerField(default=0)
    corpus_epoch = models.BigIntegerField(default=0)  # of the scope: what was published after it, the run never saw
    # a run of an auditor, who asks the question: what this person could see at this moment
    as_of = models.DateTimeField(null=True, blank=True)
    as_of_person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    settings = models.JSONField(default=dict)
    versions = models.JSONField(default=dict)
    cost = models.JSONField(default=dict)
    checks = models.JSONField(default=list)
    offered_at = models.DateTimeField(null=True, blank=True)  # last handed to the task queue
    restarts = models.PositiveSmallIntegerField(default=0)
    attempts = models.PositiveSmallIntegerField(default=0)  # how often a worker took it
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="run_done_has_verdict", condition=~models.Q(state="done") | ~models.Q(verdict="")
            ),
            models.CheckConstraint(
                name="run_as_of_whole",
                condition=models.Q(as_of__isnull=True, as_of_person__isnull=True)
                | models.Q(as_of__isnull=False, as_of_person__isnull=False),
            ),
        ]
        indexes = [models.Index(fields=["-created_at"], name="run_recent")]


class RunPin(Identified):
    """The build of a document that the run saw first."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="pins")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="+")
    version = models.ForeignKey(DocumentVersion, on_delete=models.CASCADE, related_name="+")
    build = models.ForeignKey(Build, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "document"], name="run_pin_once")]


class Round(Identified):
    """One round: what was retrieved with which similarity, draw and score, what was read, and what the reader made of it."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="rounds")
    number = models.PositiveSmallIntegerField()
    # numbers, ids, scores and verdicts; the texts (query, findings, reader input and output) stand in `texts`
    record = models.JSONField(default=dict)
    texts = models.JSONField(default=dict)
    finished_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="round_number_once")]
