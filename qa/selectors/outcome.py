"""A finished run as one value: verdict, reason, answer, claims with their citations, rounds, cost."""

from __future__ import annotations

from typing import Any

from ingestion.domain.cleaning import inert
from qa.models import Answer, Run


def run_outcome(run: Run) -> dict[str, Any]:
    """What the asker gets. The caller has made sure that it is the asker who looks; released text is all that is in here."""
    answer = Answer.objects.filter(run=run).prefetch_related("claims__citations__document", "claims__citations__version").first()
    return {
        "run": str(run.id),
        "state": run.state,
        "verdict": run.verdict,
        "reason": run.reason,
        "answer": answer.text or None if answer else None,
        "withdrawn": bool(answer and answer.withdrawn_at),
        "claims": [_claim(claim) for claim in answer.claims.order_by("ordinal")] if answer else [],
        "rounds": run.rounds.count(),
        "cost": run.cost,
    }


def _claim(claim: Any) -> dict[str, Any]:
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
            }
            for citation in claim.citations.order_by("ordinal")
        ],
    }
