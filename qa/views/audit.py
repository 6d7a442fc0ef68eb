"""The audit: runs of the organisation, the whole trail of one, and the state of the chain."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ingestion.selectors.visibility import is_auditor
from qa.models import Verdict
from qa.selectors import chain as chains
from qa.selectors import trail as trails
from qa.views.portal import asked

View = Callable[..., HttpResponse]


def auditors_only(view: View) -> View:
    """Lets in auditors of an organisation; for anybody else there is nothing here."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.organisation is None or not is_auditor(request.user):
            raise Http404
        return view(request, *args, **kwargs)

    return login_required(guarded)


@require_safe
@auditors_only
def runs(request: HttpRequest) -> HttpResponse:
    """Every run of the organisation."""
    person, verdict = asked(request.GET, "person", 150).strip(), asked(request.GET, "verdict", 30)
    rows, page = trails.organisation_runs(request.user, person=person, verdict=verdict, page=request.GET.get("page", "1")[:9])
    ends = [(value, trails.VERDICT_WORDS[value][0]) for value in Verdict.values]
    context = {
        "runs": rows, "page": page, "person": person, "verdict": verdict,
        "ends": [*ends, ("failed", "Failed"), ("open", "Not ended")],
    }  # fmt: skip
    return render(request, "qa/audit.html", context)


@require_safe
@auditors_only
def trail(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """A run's whole trail."""
    run = trails.audited_run(request.user, run_id)
    if run is None:
        raise Http404
    return render(request, "qa/trail.html", {"trail": trails.run_trail(request.user, run), "run": run})


@require_safe
@auditors_only
def chain(request: HttpRequest) -> HttpResponse:
    """Whether the chain is whole, walked now; on its own page with the entries."""
    context: dict[str, Any] = {"chain": chains.chain_state(request.user.organisation)}
    if request.htmx:
        return render(request, "qa/_chain.html", context)
    context["entries"] = chains.chain_entries(request.user.organisation, request.GET.get("page", "1")[:9])
    return render(request, "qa/chain.html", context)
