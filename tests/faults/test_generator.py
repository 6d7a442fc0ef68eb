"""What a drill sends: the same for the same seed, valid where it should be, and as varied as it says."""

from __future__ import annotations

from collections import Counter, defaultdict

import pypdfium2 as pdfium

from docmemo_site.drill.generator import CROWD, POISON, Generator, small_pdf


def test_the_same_seed_gives_the_same_plan_and_another_seed_another() -> None:
    first, again, other = (Generator(seed, 30).plan() for seed in (7, 7, 8))
    assert first.steps == again.steps
    assert [step.events for step in first.steps] != [step.events for step in other.steps]


def test_its_pdfs_hold_their_facts() -> None:
    pages = ("Fact 1 of a page 1: code ab12 holds", "Fact 2 of a page 2: code cd34 holds")
    document = pdfium.PdfDocument(small_pdf(pages))
    assert [page.get_textpage().get_text_range().strip() for page in document] == list(pages)
    document.close()


def test_a_plan_holds_every_kind_of_event_and_of_trouble() -> None:
    plan = Generator(1, 60).plan()
    types = Counter(event.type for event in plan.sent)
    assert set(types) == {"document.created", "document.updated", "document.deleted", "document.access_changed"}
    kinds = Counter(step.kind for step in plan.steps)
    assert kinds["again"] > 3 and kinds["crowd"] == 1 and kinds["poison"] == len(POISON)
    assert {one.kind for one in plan.poison} == set(POISON)
    assert all(len(step.events) == CROWD for step in plan.steps if step.kind == "crowd")


def test_revisions_of_a_document_differ_and_some_arrive_late() -> None:
    sent = defaultdict(list)
    for event in Generator(1, 60).plan().sent:
        sent[event.external_id].append(event.revision)
    assert all(len(set(revisions)) == len(revisions) for revisions in sent.values())
    assert any(revisions != sorted(revisions) for revisions in sent.values())
