"""The portal: ask, watch the rounds go by, read the answer, look at the evidence."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from qa.selectors import portal as views
from qa.services.questions import MAX_QUESTION_CHARACTERS, QuestionRefused, question_ask, run_offer

UNCHANGED = 204  # htmx leaves the page as it is: focus and selection stay
RECENT = 5


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def ask(request: HttpRequest) -> HttpResponse:
    """The form; a POST asks. What stands in the address fills the form in and never asks."""
    sent = request.POST if request.method == "POST" else request.GET
    corpus, document = asked(sent, "corpus", 100), asked(sent, "document", 40)
    text, refusal = sent.get("question", ""), ""
    if request.method == "POST":
        try:
            run = question_ask(user=request.user, corpus_slug=corpus, text=text, document_id=_uuid(document))
        except QuestionRefused as error:
            refusal = str(error)
        else:
            run_offer(run)
            return redirect("run", run.id)
    recent, _ = views.own_runs(request.user, each=RECENT)
    context = {
        "choices": views.choices(request.user, corpus),
        "document": document,
        "question": text[: 2 * MAX_QUESTION_CHARACTERS],
        "refusal": refusal,
        "limit": MAX_QUESTION_CHARACTERS,
        "recent": recent,
    }
    return render(request, "qa/ask.html", context, status=422 if refusal else 200)


def asked(sent: QueryDict, name: str, longest: int) -> str:
    """A value of the address or the form, bounded, without the one character that the database cannot hold."""
    return sent.get(name, "").replace("\x00", "")[:longest]


def _uuid(text: str) -> UUID | None:
    """The id; a text that is none asks for a document that is not there."""
    if not text:
        return None
    try:
        return UUID(text)
    except ValueError:
        return UUID(int=0)


@require_safe
@login_required
def document_choice(request: HttpRequest) -> HttpResponse:
    """The documents of a corpus, to choose from."""
    choices = views.choices(request.user, asked(request.GET, "corpus", 100))
    return render(request, "qa/_document_choice.html", {"choices": choices, "document": ""})


@require_safe
@login_required
def questions(request: HttpRequest) -> HttpResponse:
    """The person's own questions."""
    runs, page = views.own_runs(request.user, request.GET.get("page", "1")[:9])
    return render(request, "qa/questions.html", {"runs": runs, "page": page})


@require_safe
@login_required
def run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """A run; polled while it is open."""
    held = views.own_run(request.user, run_id)
    if held is None:
        raise Http404
    view = views.run_view(held)
    if request.htmx and request.GET.get("seen") == view.token:
        return HttpResponse(status=UNCHANGED)
    return render(request, "qa/_run.html" if request.htmx else "qa/run.html", {"run": view})


@require_safe
@login_required
def citation(request: HttpRequest, run_id: UUID, citation_id: UUID) -> HttpResponse:
    """The page that a citation names, with the quoted words marked; or why it cannot be opened any more."""
    held = views.own_run(request.user, run_id)
    if held is None:
        raise Http404
    return render(request, "qa/citation.html", {"evidence": views.evidence_view(held, citation_id)})
