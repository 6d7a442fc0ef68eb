"""Answer recall: which questions were answered from a document. For auditors, and for who manages its corpus."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ingestion.selectors.visibility import is_auditor
from qa.selectors.recall import answers_relying_on, recallable_document


@require_safe
@login_required
def recall(request: HttpRequest, document_id: UUID) -> HttpResponse:
    """The runs that were shown the document."""
    document = recallable_document(request.user, document_id)
    if document is None:
        raise Http404
    context = {"document": document, "found": answers_relying_on(document), "auditor": is_auditor(request.user)}
    return render(request, "qa/recall.html", context)
