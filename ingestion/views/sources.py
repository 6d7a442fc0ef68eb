"""The console's sources: where documents come from, how each source stands, and the tokens of programs that hand documents in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from ingestion.models import Source
from ingestion.models.source import PUSH
from ingestion.selectors import sources as rows
from ingestion.selectors.visibility import managed_corpora
from ingestion.services.sources import source_ask_soon, source_configure, source_pause, token_issue, token_revoke
from ingestion.views.forms import SourceForm, TokenForm
from ingestion.views.guard import found, managers_only

# by the verb of the address: what is done with actor, source and label; what is said then, and what when there was nothing to do
ACTS: dict[str, tuple[Callable[[str, Source, str], bool], str, str]] = {
    "pause": (lambda actor, source, _: source_pause(actor=actor, source=source, paused=True), "It is paused.", "It is paused already."),
    "resume": (lambda actor, source, _: source_pause(actor=actor, source=source, paused=False), "It goes on.", "It is not paused."),
    "ask": (
        lambda actor, source, _: source_ask_soon(actor=actor, source=source),
        "It is asked at the next turn.",
        "It is paused, or sends by itself.",
    ),
    "revoke": (
        lambda actor, source, label: token_revoke(actor=actor, source=source, name=label) > 0,
        "The token opens nothing any more.",
        "There is no such token.",
    ),
}


@require_safe
@managers_only
def sources(request: HttpRequest) -> HttpResponse:
    """The sources of every corpus that the person manages."""
    return render(request, "ingestion/sources.html", {"sources": rows.managed_sources(request.user)})


@require_http_methods(["GET", "HEAD", "POST"])
@managers_only
def source_new(request: HttpRequest) -> HttpResponse:
    """Registers a program that sends by itself. What reads the operator's folders and buckets is set up by the operator."""
    form = SourceForm(managed_corpora(request.user), request.POST or None)
    if request.method == "POST" and form.is_valid():
        made = source_configure(actor=str(request.user.id), corpus=form.corpus, name=form.cleaned_data["name"], kind=PUSH)
        messages.success(request, f"The source {made.source.name} is registered. Make a token for the program that is to send.")
        return redirect("console-source", made.source_id)
    return render(request, "ingestion/source_new.html", {"form": form}, status=422 if form.errors else 200)


@require_safe
@managers_only
def source(request: HttpRequest, source_id: UUID) -> HttpResponse:
    """One source: how it stands, what it offered that was refused, its tokens."""
    return _page(request, source_id)


def _page(request: HttpRequest, source_id: UUID, *, token: str = "", form: TokenForm | None = None) -> HttpResponse:
    held = found(rows.managed_source(request.user, source_id))
    context = {
        "source": next(row for row in rows.managed_sources(request.user) if row.id == held.id),
        "refused": rows.refused_items(held),
        "token": token,
        "form": form or TokenForm(),
    }
    return render(request, "ingestion/source.html", context, status=422 if form and form.errors else 200)


@require_POST
@managers_only
def source_act(request: HttpRequest, source_id: UUID, action: str) -> HttpResponse:
    """Pauses a source, resumes it, lets it be asked soon, or ends a token."""
    held = found(rows.managed_source(request.user, source_id))
    if action not in ACTS:
        raise Http404
    act, done, refused = ACTS[action]
    changed = act(str(request.user.id), held, request.POST.get("label", "").replace("\x00", "")[:100])
    (messages.success if changed else messages.warning)(request, done if changed else refused)
    return redirect("console-source", source_id)


@require_POST
@managers_only
def source_token(request: HttpRequest, source_id: UUID) -> HttpResponse:
    """Makes a token. The answer shows it, this once: it is kept nowhere."""
    held = found(rows.managed_source(request.user, source_id))
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, source_id, form=form)
    days = form.cleaned_data["days"]
    ends = timezone.now() + timedelta(days=days) if days else None
    token = token_issue(actor=str(request.user.id), source=held, name=form.cleaned_data["label"], expires_at=ends)
    answer = _page(request, source_id, token=token)
    answer["Cache-Control"] = "no-store"
    return answer
