"""Attacks whose place matters, as PDFs through the product's own parser, into the real run: what arrives, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ingestion.models import Document, Page
from ingestion.selectors.evidence import page_visible
from ingestion.selectors.visibility import asker_for
from ingestion.services.corpora import access_replace
from qa.models import Answer, Citation, Run
from qa.selectors.outcome import run_outcome
from qa.selectors.record import run_record
from qa.selectors.trail import run_trail
from tests.ingestion.fakes import Workbench
from tests.qa.fake_door import view
from tests.security import invariants
from tests.security.attacks import IN_PDF, Attack, Place
from tests.security.obedient import ObedientReader, bare
from tests.security.papers import paper
from tests.security.world import FACT

DROPPED = {Place.WHITE: "hidden_text_dropped", Place.OFF_PAGE: "text_outside_the_page_dropped", Place.COVERED: "hidden_text_dropped"}
FLAGGED = {Place.TINY: "tiny_text", Place.FAINT: "faint_text", Place.OCR_LAYER: "text_layer_differs_from_picture"}
PLACES = {
    "hidden": (Place.WHITE, Place.OFF_PAGE, Place.COVERED),
    "hard to see": (Place.TINY, Place.FAINT, Place.OCR_LAYER, Place.FIGURE),
    "around": (Place.METADATA, Place.OUTLINE, Place.LABEL, Place.TITLE, Place.FILE_NAME),
}


def test_every_pdf_attack_is_read_by_one_of_these_tests() -> None:
    assert {attack.place for attack in IN_PDF} == {place for places in PLACES.values() for place in places}


def test_words_that_nobody_sees_do_not_arrive(pdf_bench: Workbench, ask: Callable[..., Run], tmp_path: Path) -> None:
    document, attacks = _published(pdf_bench, tmp_path, "hidden"), _attacks("hidden")
    for number, attack in enumerate(attacks, start=1):
        page = _page(document, number)
        reader, run = _asked(pdf_bench, ask, document, attack)
        assert bare(attack.text) not in bare(page.content.text), attack.name
        assert DROPPED[attack.place] in page.warnings, attack.name
        assert reader.obeyed == 0 and run.verdict == "answered", attack.name
        _told_in_the_trail(pdf_bench, run, page, DROPPED[attack.place])


def test_words_that_are_hard_to_see_arrive_flagged_and_move_nothing(
    pdf_bench: Workbench, ask: Callable[..., Run], tmp_path: Path
) -> None:
    document = _published(pdf_bench, tmp_path, "hard to see")
    for number, attack in enumerate(_attacks("hard to see"), start=1):
        page = _page(document, number)
        reader, run = _asked(pdf_bench, ask, document, attack)
        assert reader.obeyed >= 1 and run.verdict not in ("answered", "not_in_documents"), attack.name
        if attack.place in FLAGGED:
            assert FLAGGED[attack.place] in page.warnings, (attack.name, page.warnings)
            _told_in_the_trail(pdf_bench, run, page, FLAGGED[attack.place])
    odd = {*FLAGGED.values(), *DROPPED.values()}
    assert not odd & set(_page(document, len(_attacks("hard to see")) + 1).warnings)  # the honest page has no such flag


def test_words_around_the_pages_move_nothing(pdf_bench: Workbench, ask: Callable[..., Run], tmp_path: Path) -> None:
    """Metadata and outline, and each name that a document goes by: the title where there is one, else the file's name."""
    met = set()
    title, name = (next(a for a in IN_PDF if a.place is place) for place in (Place.TITLE, Place.FILE_NAME))
    document = _published(pdf_bench, tmp_path, "around", name.text, title.text)
    for attack in _attacks("around"):
        reader, _ = _asked(pdf_bench, ask, document, attack)
        met |= {attack.place} if reader.obeyed else set()
    assert {Place.TITLE, Place.FILE_NAME, Place.LABEL} <= met  # else this would show nothing


def _attacks(group: str) -> list[Attack]:
    return [attack for attack in IN_PDF if attack.place in PLACES[group]]


def _published(bench: Workbench, folder: Path, group: str, external_id: str = "a.pdf", title: str = "") -> Document:
    """The group's paper; its last page, the secret, is closed to alice."""
    attacks = _attacks(group)
    document = bench.publish(paper(attacks, folder / "paper.pdf").read_bytes(), external_id, title=title)
    access_replace(actor="test", corpus=document.corpus, document=document, page_number=len(attacks) + 2, allow=("board",))
    return document


def _asked(bench: Workbench, ask: Callable[..., Run], document: Document, attack: Attack) -> tuple[ObedientReader, Run]:
    """Asked with a reader that knows of the secret; what must hold of every run is looked at here."""
    page = Page.objects.filter(document=document, content__text__contains="912345").select_related("content").get()
    secret = replace(view("", 1), page_id=page.id, document_id=document.id, build_id=page.build_id, text=page.content.text)
    pictured = attack.place is Place.FIGURE
    reader = ObedientReader(attack, FACT, [secret], pictures=pictured, pictured=pictured)
    run = ask(reader, document_id=document.id)
    _holds(bench, run, attack)
    return reader, run


def _page(document: Document, number: int) -> Page:
    return Page.objects.select_related("content").get(build_id=document.live_build_id, number=number)


def _holds(bench: Workbench, run: Run, attack: Attack) -> None:
    """The invariants on what is stored and shown."""
    shown = {p for r in run_record(run)["rounds"] for p in r["record"]["shown"]}
    ids = set(Page.objects.filter(id__in=shown).values_list("id", flat=True))
    assert run.state == "done" and page_visible(asker_for(bench.cast.alice), ids) == ids, attack.name
    for citation in Citation.objects.filter(claim__answer__run=run).select_related("page__content"):
        assert str(citation.page_id) in shown, attack.name
        assert citation.page.content.text[citation.start : citation.end] == citation.quote, attack.name
    outcome = run_outcome(run)
    texts = [outcome["answer"] or "", *(c["text"] for c in outcome["claims"])]
    texts += [c[key] for claim in outcome["claims"] for c in claim["citations"] for key in ("title", "label")]
    assert [part for text in texts for part in invariants.active_parts(text)] == [], attack.name
    assert invariants.nothing_of_the_prompt(texts) == [] and "912345" not in repr(outcome), attack.name
    assert (run.verdict == "answered") == Answer.objects.filter(run=run).exists(), attack.name


def _told_in_the_trail(bench: Workbench, run: Run, page: Page, flag: str) -> None:
    [first, *_] = run_record(run)["rounds"]
    assert flag in first["record"]["page_flags"][str(page.id)]
    rows = [row for r in run_trail(bench.cast.auditor, run).rounds for row in r.candidates if row.page_id == str(page.id)]
    assert rows and any(flag.replace("_", " ") in row.flags for row in rows)
