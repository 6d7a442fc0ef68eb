"""The console's pages about rights: why a person may or may not see, and lists that are put in force after a look at what they would do."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from ingestion.models import Corpus, Document
from ingestion.selectors import console as rows
from ingestion.selectors.explanation import CIRCUMSTANCES, access_explanation, person_of
from ingestion.services.access_preview import Preview, access_preview, names_previewed
from ingestion.services.corpora import PreviewStale, access_replace
from ingestion.views.console import corpus_page
from ingestion.views.documents import document_page
from ingestion.views.forms import ListForm, NarrowForm, PageListForm
from ingestion.views.guard import found, managers_only

STALE = 409
PEOPLE_SHOWN = 200


@require_POST
@managers_only
def corpus_access(request: HttpRequest, corpus_id: UUID) -> HttpResponse:
    """The corpus's whole list: first what it would do, then, with the digest of that, in force."""
    held = found(rows.managed_corpus(request.user, corpus_id))
    form = ListForm(held.organisation, request.POST, auto_id="access_%s")
    if not form.is_valid():
        return corpus_page(request, held, access=form)
    back = reverse("console-corpus", args=[held.id])
    return _look_then_put(request, back, corpus=held, allow=form.cleaned_data["allow"], deny=form.cleaned_data["deny"])


@require_POST
@managers_only
def document_access(request: HttpRequest, document_id: UUID) -> HttpResponse:
    """The document's own list, or one page's, in the same two steps."""
    held = found(rows.managed_document(request.user, document_id))
    for_page = "page_number" in request.POST
    form = (
        PageListForm(held, request.POST, auto_id="page_%s")
        if for_page
        else NarrowForm(held.organisation, request.POST, auto_id="own_%s")
    )
    if not form.is_valid():
        return document_page(request, held, **{"one" if for_page else "own": form})
    return _look_then_put(
        request, reverse("console-document", args=[held.id]), corpus=held.corpus, document=held, allow=form.allow_list,
        deny=form.cleaned_data["deny"], page_number=form.cleaned_data.get("page_number"),
    )  # fmt: skip


def _look_then_put(
    request: HttpRequest, back: str, *, corpus: Corpus, allow: tuple[str, ...] | None, deny: tuple[str, ...],
    document: Document | None = None, page_number: int | None = None,
) -> HttpResponse:  # fmt: skip
    target: dict[str, Any] = {"corpus": corpus, "document": document, "page_number": page_number}
    seen = request.POST.get("seen", "")[:64]
    context = {"corpus": corpus, "document": document, "page_number": page_number, "allow": allow, "deny": deny, "back": back}
    if not seen:
        preview = access_preview(**target, access=names_previewed(corpus.organisation, allow, deny))
        return render(request, "ingestion/preview.html", {**context, **_shown(preview)})
    try:
        changed = access_replace(actor=str(request.user.id), **target, allow=allow, deny=deny, seen=seen)
    except PreviewStale as stale:
        return render(request, "ingestion/preview.html", {**context, **_shown(stale.fresh), "stale": True}, status=STALE)
    messages.success(request, f"The list is in force; it changed {changed} {'page' if changed == 1 else 'pages'}.")
    return redirect(back)


def _shown(preview: Preview) -> dict[str, Any]:
    return {
        "preview": preview, "people": preview.people[:PEOPLE_SHOWN], "more_people": max(len(preview.people) - PEOPLE_SHOWN, 0),
    }  # fmt: skip


@require_safe
@managers_only
def document_explain(request: HttpRequest, document_id: UUID) -> HttpResponse:
    """Why a person may or may not see the document, or one page of it."""
    held = found(rows.managed_document(request.user, document_id))
    username = request.GET.get("person", "").replace("\x00", "")[:150].strip()
    asked = request.GET.get("page", "").strip()[:9]
    number = int(asked) if asked.isascii() and asked.isdigit() else None
    person = person_of(held.organisation, username) if username else None
    explanation = access_explanation(person, held, number, request.user) if person else None
    context = {
        "document": held, "corpus": held.corpus, "username": username, "number": asked, "explanation": explanation,
        "circumstance": CIRCUMSTANCES[explanation.circumstance] if explanation else "", "unknown": bool(username) and person is None,
    }  # fmt: skip
    return render(request, "ingestion/explain.html", context)
