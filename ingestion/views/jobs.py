"""The console's jobs: the list with its bulk acts, and the acts on one job."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from ingestion.domain.errors import DOCUMENT_FAILURES
from ingestion.selectors import console as rows
from ingestion.selectors import job_lists
from ingestion.selectors.queues import queue_rows, statements
from ingestion.selectors.visibility import managed_corpora
from ingestion.services import job_control
from ingestion.views.guard import found, managers_only

UNCHANGED = 204
ONE: dict[str, tuple[Callable[..., bool], str, str]] = {
    "pause": (job_control.job_pause, "The job is paused. What a worker holds is finished.", "The job cannot be paused as it stands now."),
    "resume": (job_control.job_resume, "The job goes on.", "The job is not paused."),
    "cancel": (job_control.job_cancel, "The job was cancelled. The live version stays as it is.", "The job had already ended."),
    "retry": (job_control.job_retry, "The job goes on from the stage that failed.", "The job cannot be retried as it stands now."),
}
MANY = {
    "pause": (job_control.jobs_pause, "paused"),
    "resume": (job_control.jobs_resume, "resumed"),
    "cancel": (job_control.jobs_cancel, "cancelled"),
    "retry": (job_control.jobs_retry, "begun again"),
}


@require_safe
@managers_only
def jobs(request: HttpRequest) -> HttpResponse:
    """The jobs of every corpus that the person manages, by corpus, state and reason; polled while any is open."""
    corpora = managed_corpora(request.user)
    wanted = _filter(request.GET)
    fitting = job_lists.jobs_found(corpora, wanted)
    page = job_lists.jobs_page(fitting, request.GET.get("page", "1"))
    context = {
        "corpora": corpora,
        "wanted": wanted,
        "page": page,
        "progress": job_lists.bulk_progress(corpora, wanted),
        "unattended": statements(queue_rows()),
        "acts": [(action, words, len(job_lists.jobs_for(fitting, action))) for action, (_, words) in MANY.items()],
        "states": job_lists.CHOICES,
        "codes": sorted({*DOCUMENT_FAILURES, "cancelled", "deleted", "superseded"}),
        "query": _query(wanted),
    }
    return render(request, "ingestion/_jobs.html" if request.htmx else "ingestion/jobs.html", context)


@require_POST
@managers_only
def jobs_act(request: HttpRequest, action: str) -> HttpResponse:
    """Does it to every job of the list that it can be done to, on all pages of the list."""
    if action not in MANY:
        raise Http404
    wanted = _filter(request.POST)
    fitting = job_lists.jobs_found(managed_corpora(request.user), wanted)
    act, words = MANY[action]
    ids = job_lists.jobs_for(fitting, action)
    done = act(job_ids=ids, actor=str(request.user.id))
    messages.success(request, f"{done} {'job was' if done == 1 else 'jobs were'} {words}.")
    return redirect(f"{reverse('console-jobs')}?{_query(wanted)}")


def _filter(given: dict) -> job_lists.JobFilter:
    state = given.get("state", "")
    return job_lists.JobFilter(
        corpus=given.get("corpus", "")[:100],
        state=state if state in job_lists.CHOICES else "",
        reason_code=given.get("code", "").replace("\x00", "")[:64],
    )


def _query(wanted: job_lists.JobFilter) -> str:
    return urlencode({"corpus": wanted.corpus, "state": wanted.state, "code": wanted.reason_code})


@require_POST
@managers_only
def job_act(request: HttpRequest, job_id: UUID, action: str) -> HttpResponse:
    """Pauses, resumes, cancels or retries one job; a retry may name the stage to begin at."""
    held = found(rows.managed_job(request.user, job_id))
    if action not in ONE:
        raise Http404
    act, done, refused = ONE[action]
    stage = request.POST.get("from_stage", "")
    if action == "retry" and stage in job_control.STAGE_NAMES:
        changed = act(job=held, actor=str(request.user.id), from_stage=stage)
        done = f"The job begins again at the stage {stage}."
    else:
        changed = act(job=held, actor=str(request.user.id))
    (messages.success if changed else messages.warning)(request, done if changed else refused)
    return redirect("console-job", held.id)
