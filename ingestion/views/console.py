"""The console: corpora, what arrives in them, and the jobs that work on it."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from ingestion.models import Corpus
from ingestion.selectors import console as rows
from ingestion.selectors.job_progress import job_view
from ingestion.selectors.progress import submissions_progress
from ingestion.selectors.queues import statements
from ingestion.selectors.visibility import is_admin
from ingestion.services.corpora import corpus_create
from ingestion.views.forms import CorpusForm, ListForm, UploadForm
from ingestion.views.guard import found, managers_only

UNCHANGED = 204  # htmx leaves the page as it is: focus and selection stay


@require_safe
@managers_only
def corpora(request: HttpRequest) -> HttpResponse:
    """Every corpus that the person manages."""
    context = {"corpora": rows.corpus_rows(request.user), "may_create": is_admin(request.user), "unattended": statements()}
    return render(request, "ingestion/corpora.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@managers_only
def corpus_new(request: HttpRequest) -> HttpResponse:
    """Makes a corpus; an administrator's work."""
    organisation = found(request.user.organisation if is_admin(request.user) else None)
    form = CorpusForm(organisation, request.POST or None)
    if request.method == "POST" and form.is_valid() and (corpus := _create(request, form)):
        messages.success(request, f"The corpus {corpus.name} is there. Upload its first document.")
        return redirect("console-corpus", corpus.id)
    context = {"form": form, "names": rows.group_names(organisation)}
    return render(request, "ingestion/corpus_new.html", context, status=422 if form.errors else 200)


def _create(request: HttpRequest, form: CorpusForm) -> Corpus | None:
    try:
        return corpus_create(actor=str(request.user.id), organisation=form.organisation, **form.cleaned_data)
    except IntegrityError:  # somebody made it between the check and now
        form.add_error("slug", "A corpus has this short name. Choose another.")
        return None


def corpus_page(
    request: HttpRequest, corpus: Corpus, *, upload: UploadForm | None = None, access: ListForm | None = None
) -> HttpResponse:
    """The page of a corpus, with a form that was refused where there is one."""
    lists = rows.access_lists(corpus)
    current = lists[0] if lists else rows.AccessRow(None, (), ())
    filled = {"allow": "\n".join(current.allow or ()), "deny": "\n".join(current.deny)}
    context = {
        "corpus": corpus,
        "table": _table(request, corpus),
        "access": current,
        "access_form": access or ListForm(corpus.organisation, initial=filled, auto_id="access_%s"),
        "upload_form": upload or UploadForm(corpus, auto_id="upload_%s"),
        "names": rows.group_names(corpus.organisation),
        **_filter(request),
    }
    refused = (upload and upload.errors) or (access and access.errors)
    return render(request, "ingestion/corpus.html", context, status=422 if refused else 200)


def _table(request: HttpRequest, corpus: Corpus) -> rows.DocumentTable:
    return rows.corpus_documents(corpus, **_filter(request), page=request.GET.get("page", "1")[:9])


def _filter(request: HttpRequest) -> dict[str, str]:
    """What the address asks for, bounded, without the one character that the database cannot hold."""
    return {"search": request.GET.get("q", "").replace("\x00", "")[:200], "state": request.GET.get("state", "")[:20]}


@require_safe
@managers_only
def corpus(request: HttpRequest, corpus_id: UUID) -> HttpResponse:
    """A corpus: its documents, who may read, and the form to upload more."""
    return corpus_page(request, found(rows.managed_corpus(request.user, corpus_id)))


@require_safe
@managers_only
def corpus_documents(request: HttpRequest, corpus_id: UUID) -> HttpResponse:
    """The table of documents alone, for polling."""
    held = found(rows.managed_corpus(request.user, corpus_id))
    table = _table(request, held)
    if request.GET.get("seen") == table.token:
        return HttpResponse(status=UNCHANGED)
    return render(request, "ingestion/_documents.html", {"corpus": held, "table": table, **_filter(request)})


@require_safe
@managers_only
def submission(request: HttpRequest, event_id: UUID) -> HttpResponse:
    """How far a document that was handed in has come."""
    held = found(rows.managed_submission(request.user, event_id))
    progress = submissions_progress([event_id])[0]
    token = f"{progress.state}-{progress.done}-{progress.stage}"
    if request.htmx and request.GET.get("seen") == token:
        return HttpResponse(status=UNCHANGED)
    context = {"corpus": held, "progress": progress, "token": token}
    return render(request, "ingestion/_submission.html" if request.htmx else "ingestion/submission.html", context)


@require_safe
@managers_only
def job(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """A job with its stages; polled while it is open."""
    held = found(rows.managed_job(request.user, job_id))
    view = job_view(held)
    if request.htmx and request.GET.get("seen") == view.token:
        return HttpResponse(status=UNCHANGED)
    context = {"document": held.document, "corpus": held.document.corpus, "job": view}
    return render(request, "ingestion/_job.html" if request.htmx else "ingestion/job.html", context)
