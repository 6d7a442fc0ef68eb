"""What a question remembers, and what of it the next round is told."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa.memory.episodic import Episode, EpisodicMemory, Finding

texts = st.text(max_size=40)
findings = st.builds(Finding, st.text(min_size=1, max_size=40), st.integers(1, 6).map(lambda n: UUID(int=n)))
NUMBERS = {UUID(int=n): n for n in range(1, 7)}


def episode(number: int, query: str = "q", **changes) -> Episode:
    return Episode(number, query, **changes)


verdicts_read = st.dictionaries(st.sampled_from(list(NUMBERS)), st.just("useful"))
rounds_told = st.tuples(texts, st.lists(findings, max_size=4), st.lists(texts, max_size=4), verdicts_read)


@given(st.lists(rounds_told, max_size=4), st.integers(0, 200))
def test_the_brief_keeps_its_bound(rounds: list, characters: int) -> None:
    memory = EpisodicMemory()
    for number, (query, found, missing, verdicts) in enumerate(rounds, start=1):
        memory = memory.with_episode(Episode(number, query, verdicts, tuple(found), tuple(missing)))
    assert memory.brief(NUMBERS, characters).characters <= characters


def test_findings_are_kept_longest() -> None:
    finding = Finding("the warranty lasts two years", UUID(int=1))
    memory = EpisodicMemory().with_episode(
        Episode(1, "a long query about warranties", {UUID(int=1): "useful"}, (finding,), ("the exact date",))
    )
    brief = memory.brief(NUMBERS, 30)
    assert brief.findings == (finding,) and not brief.queries and not brief.pages_read and not brief.missing
    whole = memory.brief(NUMBERS)
    assert whole.queries and whole.pages_read == ((1, "useful"),) and whole.missing == ("the exact date",)


def test_pages_without_a_known_number_are_not_told_of() -> None:
    memory = EpisodicMemory().with_episode(Episode(1, "q", {UUID(int=99): "useful"}, (Finding("x", UUID(int=99)),)))
    brief = memory.brief(NUMBERS)
    assert not brief.pages_read and not brief.findings


def test_episodes_are_told_in_order() -> None:
    memory = EpisodicMemory().with_episode(episode(2))
    with pytest.raises(ValueError):
        memory.with_episode(episode(2))
    assert memory.with_episode(episode(3, "other")).queries == ("q", "other")
