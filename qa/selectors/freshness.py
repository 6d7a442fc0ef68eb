"""How a stored end of a question stands today. Past answers are marked, never written anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from uuid import UUID

from ingestion.domain.evidence import Asker
from ingestion.selectors.newer import Newer, Then, evidence_newer
from qa.models import Run, RunState, Verdict
from qa.selectors.standing import Standing

ABSTAINED = (Verdict.NOT_IN_DOCUMENTS, Verdict.NOT_FOUND, Verdict.NO_READABLE_DOCUMENTS)


class Mark(StrEnum):
    """What is said of an answer; for the asker, withdrawn and no longer visible are the same."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    NOT_AVAILABLE = "not_available"


MARK_WORDS = {
    Mark.CURRENT: "",
    Mark.SUPERSEDED: "Some of the evidence has changed since this was answered: it is of a version that is not the live one any more.",
    Mark.NOT_AVAILABLE: "Some of the evidence has changed since this was answered: it was withdrawn, or is not visible to you any more.",
}


def mark_of(standings: Iterable[Standing]) -> Mark:
    """The mark of an answer whose citations stand so; an answer without one rests on nothing that is held."""
    found = set(standings)
    if not found or Standing.GONE in found:
        return Mark.NOT_AVAILABLE
    return Mark.SUPERSEDED if Standing.SUPERSEDED in found else Mark.CURRENT


def newer_than(asker: Asker, run: Run) -> Sequence[Newer]:
    """Documents that the run of an abstention never saw, of those that its asker may see now."""
    if run.as_of is not None or run.state != RunState.DONE or run.verdict not in ABSTAINED:
        return ()
    question = run.question
    then = Then(run.corpus_epoch, frozenset(UUID(tag) for tag in run.tags), run.started_at or run.created_at)
    return evidence_newer(asker, question.corpus_slug, question.document_asked, then)
