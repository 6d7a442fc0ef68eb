"""Nothing is released but what stands on the pages; the end states never merge."""

from __future__ import annotations

from dataclasses import asdict, replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.domain.evidence import PageView, Scope
from qa.gate.answerability import GateSettings
from qa.gate.gate import Decision, decide
from qa.gate.reasons import REASONS, end_state, sentence
from qa.memory.trail import DraftCitation, DraftClaim, EndState, Reason, RoundRecord, RunResult
from tests.qa.fake_door import FakeDoor, page_id, view

TEXT = "The warranty of the pump lasts 24 months.\nNo fee is charged for a repair by Norvik in May 2024."
PAGES = {v.page_id: v for v in (view(TEXT, 1), view("Hotel costs are refunded.", 2))}
SCOPE = FakeDoor(list(PAGES.values())).scope()
SHOWN = RoundRecord(1, "q", (), tuple(PAGES), tuple(PAGES), "answer")


def cite(quote: str, page: UUID | None = None, text: str = TEXT) -> DraftCitation:
    start = text.index(quote)
    return DraftCitation(page or page_id(1, 1), start, start + len(quote), quote)


def proposal(*claims: DraftClaim, **changes) -> RunResult:
    base = RunResult(EndState.ANSWERED, Reason.ANSWERED, claims, confidence=0.9, rounds=(SHOWN,), build_ids=frozenset(SCOPE.build_ids))
    return replace(base, **changes)


def claim(text: str, *quotes: str) -> DraftClaim:
    return DraftClaim(text, tuple(cite(quote) for quote in quotes))


WARRANTY = claim("The warranty lasts 24 months.", "The warranty of the pump lasts 24 months.")


def judged(result: RunResult, pages: dict[UUID, PageView] = PAGES, scope: Scope = SCOPE) -> Decision:
    return decide(result, pages, scope)


def test_a_verified_claim_is_released_with_its_boxes() -> None:
    decision = judged(proposal(WARRANTY))
    assert (decision.verdict, decision.reason) == (EndState.ANSWERED, Reason.ANSWERED)
    anchor = decision.claims[0].anchors[0]
    assert anchor.quote == "The warranty of the pump lasts 24 months." and len(anchor.boxes) == 1
    assert all(check.passed for check in decision.checks)


def test_a_quote_over_two_lines_has_two_boxes() -> None:
    both = claim("24 months. No fee", "24 months.\nNo fee")
    assert len(judged(proposal(both, verbatim=True, rounds=(SHOWN,))).claims[0].anchors[0].boxes) == 2


@pytest.mark.parametrize(
    ("citation", "why"),
    [
        (DraftCitation(UUID(int=4), 0, 3, "The"), "page_not_shown"),
        (DraftCitation(page_id(1, 1), 0, 3, "Tha"), "quote_not_there"),
        (DraftCitation(page_id(1, 1), 1, 4, "The"), "quote_not_there"),
        (DraftCitation(page_id(1, 1), -3, 3, "The"), "quote_not_there"),
        (DraftCitation(page_id(1, 1), 0, 10_000, TEXT), "quote_not_there"),
        (DraftCitation(page_id(1, 1), 3, 4, " "), "quote_not_there"),
        (DraftCitation(page_id(1, 2), 0, 3, "The"), "quote_not_there"),
    ],
)
def test_a_citation_that_does_not_stand_takes_the_answer_with_it(citation: DraftCitation, why: str) -> None:
    bad = DraftClaim("The warranty lasts 24 months.", (cite("The warranty of the pump lasts 24 months."), citation))
    decision = judged(proposal(WARRANTY, bad))
    assert (decision.verdict, decision.reason, decision.claims) == (EndState.NOT_FOUND, Reason.CITATION_UNVERIFIED, ())
    assert any(not c.passed and c.detail.startswith(why) for c in decision.checks)


def test_a_page_that_cannot_be_fetched_again_is_no_evidence() -> None:
    left = {p: v for p, v in PAGES.items() if p != page_id(1, 1)}
    decision = judged(proposal(WARRANTY), left)
    assert decision.reason is Reason.CITATION_UNVERIFIED and "page_not_readable_now" in decision.checks[0].detail


def test_a_page_of_another_build_is_no_evidence() -> None:
    moved = {p: replace(v, build_id=UUID(int=8)) for p, v in PAGES.items()}
    assert judged(proposal(WARRANTY), moved).reason is Reason.CITATION_UNVERIFIED


def test_a_page_that_was_not_shown_is_no_evidence_even_if_it_says_so() -> None:
    other = replace(SHOWN, shown=(page_id(1, 2),))
    assert judged(proposal(WARRANTY, rounds=(other,))).reason is Reason.CITATION_UNVERIFIED


@pytest.mark.parametrize(
    ("text", "quote", "rule"),
    [
        ("The warranty lasts 36 months.", "The warranty of the pump lasts 24 months.", "numbers"),
        ("The warranty lasts 24 years.", "The warranty of the pump lasts 24 months.", "numbers"),
        ("The warranty of the Lindvik pump lasts 24 months.", "The warranty of the pump lasts 24 months.", "names"),
        ("A fee is charged for a repair by Norvik in May 2024.", "No fee is charged for a repair by Norvik in May 2024.", "negation"),
        ("The warranty of the pump never lasts 24 months.", "The warranty of the pump lasts 24 months.", "negation"),
        ("No fee is charged for a repair by Norvik in June 2024.", "No fee is charged for a repair by Norvik in May 2024.", "months"),
        ("No fee is charged for a repair by Norvik in May 2023.", "No fee is charged for a repair by Norvik in May 2024.", "numbers"),
        ("Cats sleep a lot in winter because it is cold.", "The warranty of the pump lasts 24 months.", "words"),
    ],
)
def test_a_claim_that_its_quotes_do_not_bear_out_becomes_an_abstention(text: str, quote: str, rule: str) -> None:
    decision = judged(proposal(claim(text, quote)))
    assert (decision.verdict, decision.reason, decision.claims) == (EndState.NOT_FOUND, Reason.SUPPORT_UNVERIFIED, ())
    assert rule in {c.name for c in decision.checks if not c.passed}


@pytest.mark.parametrize(
    "text",
    ["The warranty lasts 24 months.", "24 months", "The pump's warranty is 24.0 months."],
)
def test_the_same_said_in_other_words_is_released(text: str) -> None:
    assert judged(proposal(claim(text, "The warranty of the pump lasts 24 months."))).verdict is EndState.ANSWERED


def test_a_denial_on_a_quote_that_denies_is_released() -> None:
    denial = claim("For a repair no fee is charged.", "No fee is charged for a repair by Norvik in May 2024.")
    assert judged(proposal(denial)).verdict is EndState.ANSWERED


def test_verbatim_readers_are_held_to_the_word() -> None:
    quote = "lasts 24 months.\nNo fee"
    assert judged(proposal(claim("lasts 24 months. No fee", quote), verbatim=True)).verdict is EndState.ANSWERED
    assert judged(proposal(claim("lasts 24 months. Any fee", quote), verbatim=True)).reason is Reason.SUPPORT_UNVERIFIED


def test_no_claims_and_low_confidence_are_abstentions() -> None:
    assert judged(proposal()).reason is Reason.NO_CLAIMS
    assert judged(proposal(WARRANTY, confidence=0.2)).reason is Reason.CONFIDENCE_LOW
    low = decide(proposal(WARRANTY, confidence=0.2), PAGES, SCOPE, GateSettings(confidence=0.1))
    assert low.verdict is EndState.ANSWERED


def test_a_claim_without_citations_is_not_released() -> None:
    assert judged(proposal(DraftClaim("The warranty lasts 24 months.", ()))).verdict is EndState.NOT_FOUND


def test_an_empty_scope_is_no_readable_documents_whatever_was_proposed() -> None:
    empty = Scope(None, (), 0, 0)
    for result in (proposal(WARRANTY), RunResult(EndState.NOT_FOUND, Reason.ROUNDS_SPENT)):
        decision = judged(result, {}, empty)
        assert (decision.verdict, decision.reason) == (EndState.NO_READABLE_DOCUMENTS, Reason.NO_VISIBLE_PAGES)


def absent(reason: Reason = Reason.TERMS_ABSENT, **changes) -> RunResult:
    base = RunResult(EndState.NOT_IN_DOCUMENTS, reason, absent_terms={"Zenfabrik": {"zenfabrik": 0}}, rounds=(SHOWN,))
    return replace(base, **changes)


def test_not_in_the_documents_has_to_be_proven_again() -> None:
    assert judged(absent()).verdict is EndState.NOT_IN_DOCUMENTS
    unreadable = replace(SCOPE, unreadable_pages=1)
    for result, scope in (
        (absent(), unreadable),
        (absent(absent_terms={}), SCOPE),
        (absent(absent_terms={"Zenfabrik": {}}), SCOPE),
        (absent(absent_terms={"Zenfabrik": {"zenfabrik": 2}}), SCOPE),
        (absent(Reason.ALL_PAGES_READ), replace(SCOPE, visible_pages=3)),
        (absent(Reason.ALL_PAGES_READ), unreadable),
    ):
        assert judged(result, PAGES, scope).reason is Reason.ABSENCE_UNPROVEN
    assert judged(absent(Reason.ALL_PAGES_READ)).verdict is EndState.NOT_IN_DOCUMENTS
    assert judged(absent(Reason.ALL_PAGES_READ, pictures_read=True), PAGES, unreadable).verdict is EndState.NOT_IN_DOCUMENTS


@given(st.sampled_from(EndState), st.sampled_from(Reason), st.booleans())
def test_whatever_is_proposed_verdict_and_reason_agree_and_claims_are_only_with_answered(
    status: EndState, reason: Reason, with_claims: bool
) -> None:
    decision = judged(RunResult(status, reason, (WARRANTY,) if with_claims else (), confidence=1.0, rounds=(SHOWN,)))
    assert end_state(decision.reason) is decision.verdict
    assert bool(decision.claims) == (decision.verdict is EndState.ANSWERED)
    if decision.verdict is EndState.ANSWERED:
        assert status is EndState.ANSWERED and with_claims
    if decision.verdict is EndState.NOT_IN_DOCUMENTS:
        assert status is EndState.NOT_IN_DOCUMENTS


def test_the_sentences_tell_of_nothing_that_cannot_be_seen() -> None:
    for reason, (_, words) in REASONS.items():
        assert sentence(str(reason)) == words
        assert not any(word in words.lower() for word in ("hidden", "permission", "forbidden", "access", "restricted", "not allowed"))
    with pytest.raises(ValueError):
        sentence("no_such_reason")


def test_checks_hold_no_text_of_pages() -> None:
    decision = judged(proposal(WARRANTY))
    assert not any("warranty" in str(asdict(check)).lower() for check in decision.checks)
