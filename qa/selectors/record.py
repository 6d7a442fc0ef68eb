"""A run's whole record as one value: what the trail and a replay need."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ingestion.models import AuditEntry, User
from ingestion.selectors.evidence import page_visible
from ingestion.selectors.visibility import asker_for, is_auditor, principal_names
from qa.models import Run


def may_read_texts(viewer: User | None, run: Run) -> bool:
    """An auditor of the organisation whose own tags cover every page that the run was shown. Nobody else, by this door."""
    if viewer is None or viewer.organisation_id != run.question.organisation_id or not is_auditor(viewer):
        return False
    shown = {UUID(page) for r in run.rounds.all() for page in r.record.get("shown", ())}
    return page_visible(asker_for(viewer), shown) == shown


def run_record(run: Run, viewer: User | None = None) -> dict[str, Any]:
    """Everything that was recorded of the run; texts only where `may_read_texts` lets the viewer read them, else `restricted`."""
    question = run.question
    readable = may_read_texts(viewer, run)
    entries = AuditEntry.objects.filter(organisation_id=question.organisation_id, subject=str(run.id)).order_by("position")
    return {
        "run": str(run.id),
        "question": question.text if readable else "restricted",
        "asker": question.asker.username,
        "as_of": {"at": run.as_of.isoformat(), "for": run.as_of_person.username} if run.as_of else None,
        "corpus": question.corpus_slug,
        "document": question.document_asked,
        "asked_at": question.asked_at.isoformat(),
        "rights": {"access_epoch": run.access_epoch, "tags": principal_names(question.organisation_id, map(UUID, run.tags))},
        "state": run.state,
        "verdict": run.verdict,
        "reason": run.reason,
        "seed": run.seed,
        "restarts": run.restarts,
        "settings": run.settings,
        "versions": run.versions,
        "cost": run.cost,
        "checks": run.checks,
        "pins": [
            {"document": str(p.document_id), "version": str(p.version_id), "build": str(p.build_id)}
            for p in run.pins.order_by("document_id")
        ],
        "rounds": [
            {"number": r.number, "record": r.record, "texts": r.texts if readable else "restricted"} for r in run.rounds.order_by("number")
        ],
        "citations": [
            {
                "document": str(c.document_id), "page": c.page_number, "label": c.label, "start": c.start, "end": c.end,
                "quote_sha256": c.quote_sha256, "boxes": c.boxes, "quote": c.quote if readable else "restricted",
            }
            for claim in (run.answer.claims.order_by("ordinal") if hasattr(run, "answer") else ())
            for c in claim.citations.order_by("ordinal")
        ],
        "audit": [{"position": e.position, "act": e.act, "hash": e.entry_hash, "previous": e.previous_hash} for e in entries],
    }  # fmt: skip
