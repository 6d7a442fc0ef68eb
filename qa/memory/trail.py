"""The trail of a run: what each round did, in full, and how the run ended. Audit and replay need nothing else.

`record()` gives numbers, ids, scores and verdicts; `texts()` gives what was written on pages or by people and models. They are kept
apart because texts can be erased and the chain of records cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any
from uuid import UUID

from qa.memory.belief import DroppedVote
from qa.memory.episodic import Finding


def no_entries() -> Mapping:
    """An empty mapping that stays empty."""
    return MappingProxyType({})


class EndState(StrEnum):
    """How a question ends. The four are never merged: not found is not the same as not there."""

    ANSWERED = "answered"
    NOT_IN_DOCUMENTS = "not_in_documents"
    NOT_FOUND = "not_found_within_budget"
    NO_READABLE_DOCUMENTS = "no_readable_documents"


class Reason(StrEnum):
    """Why a run ended as it did. `qa.gate.reasons` has each one's verdict and its sentence for people."""

    ANSWERED = "answered"
    TERMS_ABSENT = "terms_absent"
    ALL_PAGES_READ = "all_pages_read"
    ROUNDS_SPENT = "rounds_spent"
    BUDGET_SPENT = "budget_spent"
    NOTHING_NEW = "nothing_new"
    NO_UNSEEN_PAGE = "no_unseen_page"
    READER_FAILED = "reader_failed"
    ABSENCE_UNPROVEN = "absence_unproven"
    EVIDENCE_CHANGED = "evidence_changed"
    NO_VISIBLE_PAGES = "no_visible_pages"
    NO_READABLE_PAGES = "no_readable_pages"
    # the gate's own
    NO_CLAIMS = "no_claims"
    CITATION_UNVERIFIED = "citation_unverified"
    SUPPORT_UNVERIFIED = "support_unverified"
    CONFIDENCE_LOW = "confidence_low"


@dataclass(frozen=True, slots=True)
class DraftCitation:
    """A place that a reader names: range `start:end` of the page's canonical text, and the quote that should stand there."""

    page_id: UUID
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class DraftClaim:
    text: str
    citations: tuple[DraftCitation, ...]


@dataclass(frozen=True, slots=True)
class CandidateRecord:
    """A page of a round's pool. `similarity` and `score` in [0, 1]; `draw` is theta, or the mean where nothing was drawn.

    `alpha` and `beta` are those of the draw, before this round's votes. `place` says why the page is in the pool: similarity,
    neighbour, exploration or carried. `verdict` is useful, irrelevant or unsure for a page that was shown, else empty.
    """

    page_id: UUID
    number: int
    similarity: float
    draw: float
    score: float
    alpha: float
    beta: float
    place: str = "similarity"
    seen: bool = False
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class Cost:
    """Counts of one round or of a run. `calls` are calls of a model, `pages` showings of a page."""

    searches: int = 0
    pages: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.searches + other.searches,
            self.pages + other.pages,
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """One round in full. `status` is the reader's (answer, need_more, not_answerable) or `failed`, then `failure` has the code.

    `order` is the pool after the rerank, `shown` what the reader saw, `propagated` what neighbours received, `flags` what was wrong
    with the reader's output. `request` and `response` summarise what went in and came out.
    """

    number: int
    query: str
    candidates: tuple[CandidateRecord, ...]
    order: tuple[UUID, ...]
    shown: tuple[UUID, ...]
    status: str
    weight: float = 0.0  # lambda of this round
    failure: str = ""
    confidence: float = 0.0
    answer: str = ""
    claims: tuple[DraftClaim, ...] = ()
    findings: tuple[Finding, ...] = ()
    missing: tuple[str, ...] = ()
    refined_query: str = ""
    propagated: Mapping[UUID, float] = field(default_factory=no_entries)
    dropped: tuple[DroppedVote, ...] = ()
    flags: tuple[str, ...] = ()
    crops: tuple[tuple[UUID, tuple[float, float, float, float]], ...] = ()
    versions: Mapping[str, str] = field(default_factory=no_entries)
    request: Mapping[str, Any] = field(default_factory=no_entries)
    response: Mapping[str, Any] = field(default_factory=no_entries)
    cost: Cost = Cost()

    def record(self) -> dict[str, Any]:
        """Numbers, ids, scores, verdicts and versions, as JSON values; no text of pages, people or models."""
        return {
            "number": self.number,
            "lambda": self.weight,
            "status": self.status,
            "failure": self.failure,
            "confidence": round(self.confidence, 6),
            "candidates": [{**asdict(c), "page_id": str(c.page_id)} for c in self.candidates],
            "order": [str(page_id) for page_id in self.order],
            "shown": [str(page_id) for page_id in self.shown],
            "claims": [[_place(c) for c in claim.citations] for claim in self.claims],
            "findings": [_place(finding) for finding in self.findings],
            "propagated": {str(page_id): gain for page_id, gain in self.propagated.items()},
            "dropped_votes": [{"page_id": str(d.page_id), "vote": d.vote, "reason": d.reason} for d in self.dropped],
            "flags": list(self.flags),
            "crops": [{"page_id": str(page_id), "box": list(box)} for page_id, box in self.crops],
            "versions": dict(self.versions),
            "cost": asdict(self.cost),
        }

    def texts(self) -> dict[str, Any]:
        """The texts of the round, as JSON values; erasable."""
        return {
            "query": self.query,
            "refined_query": self.refined_query,
            "answer": self.answer,
            "claims": [{"text": c.text, "quotes": [q.quote for q in c.citations]} for c in self.claims],
            "findings": [finding.text for finding in self.findings],
            "missing": list(self.missing),
            "request": dict(self.request),
            "response": dict(self.response),
        }


def _place(item: DraftCitation | Finding) -> dict[str, Any]:
    return {"page_id": str(item.page_id), "start": item.start, "end": item.end}


@dataclass(frozen=True, slots=True)
class RunResult:
    """What the loop hands to the gate: a proposal, never an answer. `confidence` in [0, 1] is the reader's own.

    `verbatim`: the reader promises that each claim is its first quote. `pictures_read`: it looked at page pictures, so that pages
    without text were read too. `absent_terms` are words of the question, each with the forms that were counted and on how many
    visible pages each stands.
    """

    status: EndState
    reason: Reason
    claims: tuple[DraftClaim, ...] = ()
    answer: str = ""
    confidence: float = 0.0
    verbatim: bool = False
    pictures_read: bool = False
    absent_terms: Mapping[str, Mapping[str, int]] = field(default_factory=no_entries)
    rounds: tuple[RoundRecord, ...] = ()
    cost: Cost = Cost()
    build_ids: frozenset[UUID] = frozenset()
    seed: int = 0
    versions: Mapping[str, str] = field(default_factory=no_entries)

    @property
    def shown(self) -> tuple[UUID, ...]:
        """Every page that was shown, in the order of first showing, each once."""
        return tuple(dict.fromkeys(page_id for r in self.rounds for page_id in r.shown))
