"""A finished run as one value: verdict, reason, answer, claims with their citations, rounds, cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from ingestion.domain.cleaning import inert
from ingestion.selectors.as_of import NotAnAuditor, as_of_past, as_of_visible, moment_for
from ingestion.selectors.visibility import asker_for
from qa.models import Answer, Claim, Run, Verdict
from qa.selectors.freshness import Mark, mark_of, newer_than
from qa.selectors.standing import Standing, standings


def run_outcome(run: Run) -> dict[str, Any]:
    """What the asker gets NOW: every cited page is checked again, and a claim that he may not read any more comes without its text.

    The caller has made sure that it is the asker who looks. `mark` says how the answer stands; `newer` names documents that an
    abstention never saw.
    """
    asker = asker_for(run.question.asker)
    answer = Answer.objects.filter(run=run).prefetch_related("claims__citations__document", "claims__citations__version").first()
    claims = sorted(answer.claims.all(), key=lambda claim: claim.ordinal) if answer else []
    cited = [citation.page_id for claim in claims for citation in claim.citations.all()]
    past = _as_of(run, cited) if run.as_of is not None else None
    now = past[0] if past else standings(asker, cited)
    views = [_claim(claim, now) for claim in claims]
    shown = bool(views) and all(view["text"] for view in views)
    standing = [Standing(c["standing"]) for view in views for c in view["citations"]]
    mark = (mark_of(standing) if shown else Mark.NOT_AVAILABLE) if run.verdict == Verdict.ANSWERED else Mark.CURRENT
    return {
        "run": str(run.id),
        "as_of": past[1] if past else None,
        "state": run.state,
        "verdict": run.verdict,
        "reason": run.reason,
        "answer": answer.text or None if answer and shown else None,
        "withdrawn": bool(answer and answer.withdrawn_at),
        "mark": mark.value,
        "newer": [{"document": str(n.document_id), "title": n.title, "version": n.version} for n in newer_than(asker, run)],
        "claims": views,
        "rounds": run.rounds.count(),
        "cost": run.cost,
    }


def _as_of(run: Run, cited: list[UUID]) -> tuple[dict[UUID, Standing], dict[str, Any]]:
    """For a look at the past: what is still held of it, while the asker still is an auditor; and the label that it bears."""
    auditor, person = run.question.asker, run.as_of_person
    label: dict[str, Any] = {"at": run.as_of.isoformat(), "for": person.username, "read_by": auditor.username, "no_longer_held": []}
    try:
        moment = moment_for(auditor, person, run.as_of)
    except NotAnAuditor:
        return {}, label
    past = as_of_past(moment, run.question.corpus_slug, run.question.document_asked)
    label["no_longer_held"] = [str(document) for document in past.no_longer_held]
    held = as_of_visible(moment, cited)
    return {page_id: Standing.OPEN if page_id in held else Standing.GONE for page_id in cited}, label


def _claim(claim: Claim, now: Mapping[UUID, Standing]) -> dict[str, Any]:
    citations = sorted(claim.citations.all(), key=lambda citation: citation.ordinal)
    standing = [now.get(citation.page_id, Standing.GONE) for citation in citations]
    if not standing or not all(one.text_may_be_shown for one in standing):
        return {"text": None, "citations": []}
    return {
        "text": claim.text or None,
        "citations": [
            {
                "document": str(citation.document_id),
                "external_id": citation.document.external_id,
                "title": inert(str(citation.document)),
                "version": citation.version.number,
                "page": citation.page_number,
                "label": inert(citation.label),
                "boxes": citation.boxes,
                "quote": citation.quote,
                "start": citation.start,
                "end": citation.end,
                "standing": one.value,
            }
            for citation, one in zip(citations, standing, strict=True)
        ],
    }
