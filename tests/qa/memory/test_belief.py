"""The belief memory's promises, one property each."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa.memory.belief import Admitted, BeliefMemory, BeliefSettings, Voted, replay
from qa.memory.schema import PageSchema

DOCUMENTS = (UUID(int=1), UUID(int=2))


def pid(document: int, number: int) -> UUID:
    return UUID(int=1000 * (document + 1) + number)


def schema(document: int, number: int, prior: float = 0.5, section: str = "") -> PageSchema:
    return PageSchema(pid(document, number), DOCUMENTS[document], number, section=section, prior=prior)


def memory_of(*pages: PageSchema, **settings: float) -> BeliefMemory:
    return replay([Admitted(tuple(pages))], replace(BeliefSettings(), **settings))


def book(count: int = 9, **settings: float) -> BeliefMemory:
    return memory_of(*(schema(0, number) for number in range(1, count + 1)), **settings)


page_ids = st.builds(pid, st.integers(0, 1), st.integers(1, 8))
sections = st.sampled_from(["", "A", "B"])
pages = st.lists(
    st.builds(schema, st.integers(0, 1), st.integers(1, 6), st.floats(0.05, 0.95), sections), max_size=10, unique_by=lambda s: s.page_id
)
voted = st.builds(
    Voted,
    st.integers(1, 4),
    st.lists(page_ids, max_size=6).map(tuple),
    st.lists(page_ids, max_size=6).map(tuple),
    st.lists(page_ids, max_size=6).map(tuple),
)
logs = st.lists(st.one_of(st.builds(Admitted, pages.map(tuple)), voted), max_size=8)


@given(logs)
def test_the_log_rebuilds_the_beliefs(log: list) -> None:
    memory = replay(log)
    again = replay(memory.log)
    assert memory.log == tuple(log)
    assert again == memory and dict(again.pages) == dict(memory.pages)


@given(pages, voted)
def test_votes_count_for_pages_shown_and_known_at_most_once_and_never_both_ways(known: list, vote: Voted) -> None:
    memory = memory_of(*known)
    after, outcome = memory.vote(vote)
    counted = (*outcome.useful, *outcome.irrelevant)
    assert set(counted) <= set(vote.shown) & {page.page_id for page in known}
    assert len(counted) == len(set(counted))
    assert not set(counted) & set(vote.useful) & set(vote.irrelevant)
    for page_id, belief in after.pages.items():
        before = memory.pages[page_id]
        gained = (belief.alpha - before.alpha, belief.beta - before.beta)
        if page_id in outcome.useful:
            assert gained == pytest.approx((1.0, 0.0))
        elif page_id in outcome.irrelevant:
            assert gained == pytest.approx((0.0, 1.0))
        else:
            assert gained == pytest.approx((outcome.propagated.get(page_id, 0.0), 0.0))


@given(pages, voted)
def test_every_vote_either_counts_or_is_dropped_with_a_reason(known: list, vote: Voted) -> None:
    _, outcome = memory_of(*known).vote(vote)
    told = {*outcome.useful, *outcome.irrelevant, *(dropped.page_id for dropped in outcome.dropped)}
    assert told == {*vote.useful, *vote.irrelevant}


@given(pages, voted)
def test_propagation_is_positive_bounded_and_stays_near_within_the_document(known: list, vote: Voted) -> None:
    memory = memory_of(*known)
    _, outcome = memory.vote(vote)
    useful = [memory.pages[page_id].schema for page_id in outcome.useful]
    for page_id, gain in outcome.propagated.items():
        page = memory.pages[page_id].schema
        near = [u for u in useful if u.document_id == page.document_id and 0 < abs(u.number - page.number) <= 2]
        assert near and page_id not in outcome.irrelevant and page_id not in outcome.useful
        best = max(0.5 ** abs(u.number - page.number) * (1.0 if u.section == page.section else 0.5) for u in near)
        assert gain == pytest.approx(best) and 0 < gain <= 0.5


@given(logs, st.floats(0.0, 5.0))
def test_a_belief_never_falls_below_its_prior_counts(log: list, kappa: float) -> None:
    settings = BeliefSettings(kappa=kappa)
    for belief in replay(log, settings).pages.values():
        assert belief.alpha >= 1 + kappa * belief.schema.prior - 1e-9
        assert belief.beta >= 1 + kappa * (1 - belief.schema.prior) - 1e-9
        assert 0 < belief.mean < 1


def test_the_prior_gives_the_first_beta() -> None:
    belief = memory_of(schema(0, 1, prior=0.25)).pages[pid(0, 1)]
    assert (belief.alpha, belief.beta) == (1.5, 2.5)


def test_a_page_between_two_useful_ones_gets_the_greater_gain_and_not_the_sum() -> None:
    _, outcome = book().vote(Voted(1, (pid(0, 3), pid(0, 5)), (pid(0, 3), pid(0, 5)), ()))
    assert dict(outcome.propagated) == {pid(0, 1): 0.25, pid(0, 2): 0.5, pid(0, 4): 0.5, pid(0, 6): 0.5, pid(0, 7): 0.25}


def test_a_gain_is_halved_across_a_section_border() -> None:
    memory = memory_of(schema(0, 1, section="A"), schema(0, 2, section="A"), schema(0, 3, section="B"))
    _, outcome = memory.vote(Voted(1, (pid(0, 2),), (pid(0, 2),), ()))
    assert dict(outcome.propagated) == {pid(0, 1): 0.5, pid(0, 3): 0.25}


def test_a_page_once_voted_irrelevant_receives_nothing_later() -> None:
    memory, _ = book().vote(Voted(1, (pid(0, 4),), (), (pid(0, 4),)))
    _, outcome = memory.vote(Voted(2, (pid(0, 5),), (pid(0, 5),), ()))
    assert pid(0, 4) not in outcome.propagated and pid(0, 6) in outcome.propagated


def test_an_irrelevant_vote_touches_no_neighbour() -> None:
    memory = book()
    after, outcome = memory.vote(Voted(1, (pid(0, 4),), (), (pid(0, 4),)))
    assert not outcome.propagated
    assert [p for p in after.pages if after.pages[p] != memory.pages[p]] == [pid(0, 4)]


def test_the_same_number_in_another_document_is_no_neighbour() -> None:
    memory = memory_of(schema(0, 2), schema(1, 1), schema(1, 3))
    _, outcome = memory.vote(Voted(1, (pid(0, 2),), (pid(0, 2),), ()))
    assert not outcome.propagated


def test_dropped_votes_say_why() -> None:
    memory = book()
    vote = Voted(1, (pid(0, 1), pid(0, 2), pid(0, 3)), (pid(0, 1), pid(0, 2), pid(0, 2), pid(0, 9)), (pid(0, 1),))
    after, outcome = memory.vote(vote)
    assert {(d.page_id, d.vote, d.reason) for d in outcome.dropped} == {
        (pid(0, 1), "both", "contradictory"),
        (pid(0, 2), "useful", "repeated"),
        (pid(0, 9), "useful", "not_shown"),
    }
    assert outcome.useful == (pid(0, 2),) and after.pages[pid(0, 2)].alpha == 3.0


def test_a_second_vote_in_the_same_round_counts_for_nothing() -> None:
    memory, _ = book().vote(Voted(1, (pid(0, 1),), (pid(0, 1),), ()))
    again, outcome = memory.vote(Voted(1, (pid(0, 1),), (pid(0, 1),), ()))
    assert again.pages == memory.pages and outcome.dropped[0].reason == "round_already_voted"
    later, _ = again.vote(Voted(2, (pid(0, 1),), (pid(0, 1),), ()))
    assert later.pages[pid(0, 1)].alpha == again.pages[pid(0, 1)].alpha + 1


def test_without_updates_votes_are_logged_and_move_nothing() -> None:
    memory = book(update=False)
    after, outcome = memory.vote(Voted(1, (pid(0, 1),), (pid(0, 1),), ()))
    moved = [p for p in after.pages if (after.pages[p].alpha, after.pages[p].beta) != (memory.pages[p].alpha, memory.pages[p].beta)]
    assert not moved and outcome.useful == (pid(0, 1),) and len(after.log) == 2


def test_draws_come_from_seed_and_round_and_keep_the_given_order() -> None:
    memory = book()
    order = sorted(memory.pages)
    assert memory.draw(7, 1, order) == memory.draw(7, 1, order)
    assert list(memory.draw(7, 1, order)) == order
    assert memory.draw(7, 1, order) != memory.draw(7, 2, order)
    assert memory.draw(7, 1, order) != memory.draw(8, 1, order)
    assert all(0 <= theta <= 1 for theta in memory.draw(-3, 1, order).values())


def test_draws_follow_the_posterior() -> None:
    memory = book()
    for number in range(1, 9):
        memory, _ = memory.vote(Voted(number, (pid(0, 1), pid(0, 2)), (pid(0, 1),), (pid(0, 2),)))
    wins = sum(draws[pid(0, 1)] > draws[pid(0, 2)] for draws in (memory.draw(seed, 1, sorted(memory.pages)) for seed in range(50)))
    assert wins >= 49
    assert memory.useful_pages() == (pid(0, 1),)
