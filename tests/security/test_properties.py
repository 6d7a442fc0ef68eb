"""Whatever a reader says, said at random: votes, places, statements and queries against random sets of pages shown."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingestion.domain.anchors import quote_stands_at
from ingestion.domain.cleaning import inert
from ingestion.domain.evidence import PageView
from qa.gate.gate import decide
from qa.loop.prompts import prompt, repeats_instructions
from qa.loop.read import checked, votes_of
from qa.loop.settings import MAX_QUERY_CHARACTERS, bounded_query
from qa.memory.belief import BeliefMemory
from qa.memory.episodic import Finding
from qa.memory.schema import PageSchema, SchemaMemory
from qa.memory.trail import DraftCitation, DraftClaim, EndState
from qa.seams.reader import CropRequest, PageVote, ReadResult, ReadStatus, Vote
from qa.seams.reader.scripted import ScriptedReader
from tests.qa.fake_door import page_id, view
from tests.security import invariants
from tests.security.world import FACT, handbook, run_with

VISIBLE = [*handbook()[:7], view("DELIVERY\nThe Orion is delivered in ten weeks.", 1, 2)]
HIDDEN = [view("SALARIES\nThe director earns 912345 euro.", n, 3) for n in (1, 2)]
IDS = [page.page_id for page in (*VISIBLE, *HIDDEN)]
TEXT = {page.page_id: page.text for page in (*VISIBLE, *HIDDEN)}
BOUNDED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

ids = st.one_of(st.sampled_from(IDS), st.integers(1, 9).map(lambda n: UUID(int=n)))
words = st.one_of(
    st.just(FACT), st.just(prompt("read").text[:300]),
    st.sampled_from(["24 months", "![x](https://evil.example/?q=1)", "<script>alert(1)</script>"]),
    st.text(max_size=60), st.text(st.sampled_from("abc \u202e\u200b\x1b\x00\n[](!<:/wtp."), max_size=80),
)  # fmt: skip


@st.composite
def places(draw) -> DraftCitation:
    """Half of them true, half of them anything."""
    page = draw(ids)
    text = TEXT.get(page, "")
    start, end = draw(st.integers(-3, 60)), draw(st.integers(-3, 90))
    true = text[max(start, 0) : max(end, 0)]
    return DraftCitation(page, start, end, draw(st.sampled_from([true, true, f"{true} ", FACT, ""])))


claims = st.builds(DraftClaim, words, st.lists(places(), max_size=3).map(tuple))
results = st.builds(
    ReadResult, st.sampled_from(ReadStatus), words, st.lists(claims, max_size=3).map(tuple),
    st.lists(st.builds(PageVote, ids, st.sampled_from(Vote)), max_size=20).map(tuple),
    st.lists(st.builds(Finding, words, ids, st.integers(-2, 40), st.integers(-2, 60)), max_size=4).map(tuple),
    st.lists(words, max_size=12).map(tuple), words,
    st.lists(st.builds(CropRequest, ids, st.sampled_from(["table", "figure"])), max_size=4).map(tuple),
    st.floats(0, 1), st.dictionaries(st.sampled_from(["Orion", "warranty", "last"]), st.dictionaries(words, st.integers(0, 2), max_size=2)),
)  # fmt: skip


def _shown(pages: list[int]) -> dict[UUID, PageView]:
    return {VISIBLE[n].page_id: VISIBLE[n] for n in pages}


shown_sets = st.lists(st.integers(0, len(VISIBLE) - 1), unique=True, max_size=5).map(_shown)


@BOUNDED
@given(st.lists(results, min_size=1, max_size=3), st.booleans(), st.booleans())
def test_the_whole_run_keeps_every_invariant(steps: list[ReadResult], verbatim: bool, pictures: bool) -> None:
    outcome = run_with(ScriptedReader(steps, verbatim=verbatim, pictures=pictures, vocabulary="warranty Orion last"), VISIBLE, HIDDEN)
    assert invariants.visible_set(outcome) == []
    assert invariants.citations(outcome) == []
    assert invariants.quoted_pages_keep_their_standing(outcome) == []
    assert invariants.one_vote_a_round(outcome) == []
    assert invariants.queries_are_bounded(outcome) == []
    assert [part for claim in outcome.decision.claims for part in invariants.active_parts(claim.text)] == []
    if outcome.decision.verdict is EndState.ANSWERED:
        assert outcome.decision.claims and all(claim.anchors for claim in outcome.decision.claims)


@BOUNDED
@given(results, shown_sets)
def test_checked_keeps_what_stands_on_shown_pages_and_nothing_else(result: ReadResult, shown: dict[UUID, PageView]) -> None:
    reading = checked(result, shown)
    for claim in reading.result.claims:
        assert claim.citations
        for place in claim.citations:
            assert place.page_id in shown and quote_stands_at(shown[place.page_id].text, place.start, place.end, place.quote)
    assert reading.quoted <= set(shown) and all(f.page_id in shown for f in reading.result.findings)
    assert reading.result.status is not ReadStatus.ANSWER or reading.result.claims
    assert len(reading.result.refined_query) <= MAX_QUERY_CHARACTERS and not repeats_instructions(reading.result.refined_query)


@BOUNDED
@given(st.lists(st.tuples(results, shown_sets), min_size=1, max_size=4))
def test_votes_count_once_a_round_on_shown_pages_and_never_against_a_quoted_one(rounds: list) -> None:
    known = {page.page_id: PageSchema(page.page_id, page.document_id, page.number) for page in VISIBLE}
    memory, quoted = BeliefMemory().admit(SchemaMemory(known)), set()
    for number, (result, shown) in enumerate(rounds, start=1):
        reading = checked(result, shown)
        quoted |= reading.quoted
        after, outcome = memory.vote(votes_of(reading.result, number, list(shown), quoted))
        assert set(outcome.irrelevant) <= set(shown) - quoted and set(outcome.useful) <= set(shown)
        for page, belief in after.pages.items():
            lost = belief.beta - memory.pages[page].beta
            assert lost in (0.0, 1.0) and (lost == 0.0 or page in outcome.irrelevant)
            assert belief.irrelevant_votes - memory.pages[page].irrelevant_votes <= 1
        memory = after


@BOUNDED
@given(st.lists(results, min_size=1, max_size=2), st.lists(words, min_size=4, max_size=4), st.floats(0.5, 1))
def test_the_gate_hears_no_word_beside_claims_and_quotes(steps: list[ReadResult], other: list[str], confidence: float) -> None:
    """Other words, the same quotes: the same decision. No quotes: no answer."""
    outcome = run_with(ScriptedReader(steps), VISIBLE, HIDDEN)
    result = replace(outcome.result, confidence=confidence)
    pages = {p: outcome.views[p] for p in result.shown}
    rounds = tuple(replace(r, answer=other[0], missing=(other[1],), refined_query=other[2], flags=(other[3],)) for r in result.rounds)
    assert decide(replace(result, answer=other[0], rounds=rounds), pages, outcome.scope) == decide(result, pages, outcome.scope)
    bare = replace(result, claims=tuple(replace(claim, citations=()) for claim in result.claims))
    assert decide(bare, pages, outcome.scope).verdict is not EndState.ANSWERED


@BOUNDED
@given(st.text(max_size=3000))
def test_a_query_is_one_short_clean_line_and_stays_one(query: str) -> None:
    bounded = bounded_query(query)
    assert len(bounded) <= MAX_QUERY_CHARACTERS and bounded == bounded_query(bounded)
    assert [part for part in invariants.active_parts(bounded, lines=False) if part.startswith("U+")] == []


@settings(max_examples=600, deadline=None)
@given(st.one_of(words, st.text(st.sampled_from("htps:/w.[]()!<a>jvscri \n\t\x1b\u202e\u200b"), max_size=60)))
def test_inert_text_has_no_active_part_and_stays_as_it_is(text: str) -> None:
    once = inert(text)
    assert invariants.active_parts(once) == [] and inert(once) == once


def test_ordinary_text_stays_as_it_is() -> None:
    for text in ("5 < 6 and a > b [1], see (2)!", "Delivery: 3 days; data: none", "naïve, 24 months\nfrom delivery", "Größe: 3/4, 10:30"):
        assert inert(text) == text


def test_page_ids_of_the_world_are_what_they_seem() -> None:
    assert page_id(3, 1) == HIDDEN[0].page_id and HIDDEN[0].page_id not in {page.page_id for page in VISIBLE}
