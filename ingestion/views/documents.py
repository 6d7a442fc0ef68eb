"""The console's pages about documents: handing in, looking after, taking back."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from ingestion.domain.errors import IngestionError
from ingestion.models import Document
from ingestion.selectors import console as rows
from ingestion.selectors.evidence import page_visible
from ingestion.selectors.visibility import asker_for
from ingestion.services.documents import document_submit, document_withdraw
from ingestion.views.console import corpus_page
from ingestion.views.forms import NarrowForm, PageListForm, UploadForm
from ingestion.views.guard import found, managers_only


def content_of(upload: UploadedFile) -> Path | bytes:
    """The upload as a path where it was put on disk, else its bytes (small ones stay in memory)."""
    path = getattr(upload, "temporary_file_path", None)
    return Path(path()) if path else upload.read()


@require_POST
@managers_only
@sensitive_post_parameters("password")
def upload(request: HttpRequest, corpus_id: UUID) -> HttpResponse:
    """Hands a PDF in; from here it takes the way of every document event."""
    corpus = found(rows.managed_corpus(request.user, corpus_id))
    form = UploadForm(corpus, request.POST, request.FILES, auto_id="upload_%s")
    if not form.is_valid():
        return corpus_page(request, corpus, upload=form)
    document_id = form.document_id
    known = found(rows.managed_document(request.user, document_id)) if document_id else None
    title = form.cleaned_data["title"].strip()
    try:
        event_id = document_submit(
            organisation=corpus.organisation,
            actor=str(request.user.id),
            corpus=corpus,
            external_id=known.external_id if known else form.new_external_id,
            content=content_of(form.cleaned_data["file"]),
            file_name=form.file_name,
            title=title or (known.title if known else Path(form.file_name).stem.replace("_", " ")),
            allow=form.allow_list,
            deny=form.cleaned_data["deny"],
            keep_access=known is not None,
            password=form.cleaned_data["password"],
        )
    except IngestionError as error:
        form.add_error("file", error.message)
        return corpus_page(request, corpus, upload=form)
    return redirect("console-submission", event_id)


def document_page(
    request: HttpRequest, document: Document, *, own: NarrowForm | None = None, one: PageListForm | None = None
) -> HttpResponse:
    """The document's page, with a form that was refused in place of the fresh one."""
    lists = rows.access_lists(document.corpus, document)
    current = next((row for row in lists if row.page_number is None), rows.AccessRow(None, None, ()))
    ceiling = rows.access_lists(document.corpus)
    filled = {
        "narrow": "no" if current.allow is None else "yes",
        "allow": "\n".join(current.allow or ()),
        "deny": "\n".join(current.deny),
    }
    pages = rows.document_pages(document, request.GET.get("page", "1")[:9])
    context = {
        "document": document,
        "corpus": document.corpus,
        "versions": rows.document_versions(document),
        "jobs": rows.document_jobs(document)[:20],
        "ceiling": ceiling[0] if ceiling else rows.AccessRow(None, (), ()),
        "access": current,
        "page_lists": [row for row in lists if row.page_number is not None],
        "form": own or NarrowForm(document.organisation, initial=filled, auto_id="own_%s"),
        "page_form": one or PageListForm(document, auto_id="page_%s", initial={"narrow": "yes"}),
        "names": rows.group_names(document.organisation),
        "pages": pages,
        "readable": page_visible(asker_for(request.user), [page.id for page in pages]) if pages else set(),
    }
    refused = (own and own.errors) or (one and one.errors)
    return render(request, "ingestion/document.html", context, status=422 if refused else 200)


@require_safe
@managers_only
def document(request: HttpRequest, document_id: UUID) -> HttpResponse:
    """A document: versions and builds, who may read, jobs, pages."""
    return document_page(request, found(rows.managed_document(request.user, document_id)))


@require_POST
@managers_only
def document_withdraw_view(request: HttpRequest, document_id: UUID) -> HttpResponse:
    """Takes the document back."""
    held = found(rows.managed_document(request.user, document_id))
    document_withdraw(actor=str(request.user.id), document=held)
    messages.success(request, "The document is being withdrawn; in a moment nothing answers from it any more.")
    return redirect("console-corpus", held.corpus_id)
