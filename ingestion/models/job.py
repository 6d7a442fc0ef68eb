"""Work: a job takes one version through the pipeline; a stage run is one stage over one window of pages."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from ingestion.domain.lifecycle import JobState, StageState
from ingestion.models.base import Identified, state_constraint, state_field
from ingestion.models.document import Build, Document, DocumentVersion
from ingestion.models.people import Organisation


class Job(Identified):
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="jobs")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="jobs")
    version = models.ForeignKey(DocumentVersion, on_delete=models.CASCADE, related_name="jobs")
    build = models.ForeignKey(Build, on_delete=models.CASCADE, related_name="jobs")
    state = state_field(JobState, JobState.QUEUED)
    failed_stage = models.CharField(max_length=16, blank=True)
    reason_code = models.CharField(max_length=64, blank=True)
    reason = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True)  # of an open job: nothing of it is offered or claimed

    class Meta:
        constraints = [
            state_constraint("job_state_known", JobState),
            models.CheckConstraint(
                name="job_paused_is_open",
                condition=models.Q(paused_at__isnull=True) | models.Q(state__in=["queued", "running"]),
            ),
            models.UniqueConstraint(
                fields=["build"], condition=models.Q(state__in=["queued", "running"]), name="one_open_job_a_build"
            ),
            models.CheckConstraint(
                name="job_failure_has_reason",
                condition=~models.Q(state__in=["failed", "quarantined"]) | ~models.Q(reason_code=""),
            ),
        ]
        indexes = [models.Index(fields=["organisation", "-created_at"], name="job_recent")]


class StageRun(Identified):
    """Held by a worker under a lease: only the holder of the newest `fencing_token` may write results."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="stage_runs")
    stage = models.CharField(max_length=16)
    first_page = models.PositiveIntegerField(default=0)  # 0 and 0: the whole document
    last_page = models.PositiveIntegerField(default=0)
    queue = models.CharField(max_length=16)
    state = state_field(StageState, StageState.PENDING)
    attempts = models.PositiveIntegerField(default=0)
    fencing_token = models.PositiveBigIntegerField(default=0)
    worker = models.CharField(max_length=200, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    due_at = models.DateTimeField()
    offered_at = models.DateTimeField(null=True, blank=True)  # last handed to the task queue
    reason_code = models.CharField(max_length=64, blank=True)
    reason = models.CharField(max_length=500, blank=True)
    # what became of each attempt that failed: attempt, at, worker, code, reason, signal; the newest last
    evidence = models.JSONField(default=list, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "stage", "first_page", "last_page"], name="stage_window_once"),
            state_constraint("stage_state_known", StageState),
            models.CheckConstraint(
                name="stage_running_has_lease", condition=~models.Q(state="running") | models.Q(lease_until__isnull=False)
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], condition=models.Q(state__in=["pending", "running"]), name="stage_open"),
            models.Index(fields=["job", "stage", "state"], name="stage_of_job"),
            models.Index(fields=["finished_at"], condition=models.Q(finished_at__isnull=False), name="stage_finished"),
        ]


class WorkerHeartbeat(models.Model):
    """A worker that listens to queues, as it last said; one that was killed is known by its silence."""

    name = models.CharField(primary_key=True, max_length=200)
    queues = ArrayField(models.CharField(max_length=16))
    processes = models.PositiveSmallIntegerField(default=1)
    lag = models.BigIntegerField(null=True, default=None)  # of a consumer: messages that wait for it in the broker
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()
