"""The schema memory knows visible pages and nothing else."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from ingestion.domain.evidence import PageCandidate
from qa.memory.schema import SchemaMemory


def candidate(number: int, document: int = 1, prior: float = 0.5, section: str = "", role: str = "body") -> PageCandidate:
    page_id = UUID(int=document * 1000 + 500 - number)  # ids run against page numbers
    return PageCandidate(page_id, UUID(int=document), number, str(number), 0.5, role=role, section=section, prior=prior)


@given(st.lists(st.floats(-1, 2), min_size=1, max_size=8))
def test_a_prior_never_excludes_and_never_settles(priors: list[float]) -> None:
    memory = SchemaMemory().with_candidates(candidate(n, prior=p) for n, p in enumerate(priors, start=1))
    assert all(0.05 <= page.prior <= 0.95 for page in memory.pages.values())


def test_only_candidates_are_known_and_what_was_known_first_stays() -> None:
    memory = SchemaMemory().with_candidates([candidate(1, prior=0.25, role="toc")])
    again = memory.with_candidates([candidate(1, prior=0.9), candidate(2)])
    assert {page.number for page in again.pages.values()} == {1, 2}
    assert again.pages[candidate(1).page_id].prior == 0.25
    assert len(memory.pages) == 1


def test_without_priors_every_page_is_alike() -> None:
    memory = SchemaMemory(use_priors=False).with_candidates([candidate(1, prior=0.05, role="blank", section="A"), candidate(2)])
    assert {(page.prior, page.role, page.section) for page in memory.pages.values()} == {(0.5, "body", "")}


def test_the_stable_order_goes_by_document_and_page_and_leaves_strangers_out() -> None:
    pages = [candidate(n, document=d) for d in (2, 1) for n in (3, 1, 2)]
    memory = SchemaMemory().with_candidates(pages)
    order = memory.stable_order([*(p.page_id for p in pages), UUID(int=9)])
    assert [(memory.pages[p].document_id.int, memory.pages[p].number) for p in order] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]


def test_sections_come_in_page_order_each_once() -> None:
    memory = SchemaMemory().with_candidates([candidate(3, section="B"), candidate(1, section="A"), candidate(2, section="A")])
    assert memory.sections() == ("A", "B")
