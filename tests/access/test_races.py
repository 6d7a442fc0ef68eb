"""What changes while a question is being answered: at each named step, held there by a barrier, and in drawn interleavings.

The real loop, the real gate and the reader's own database role; the oracle is a model of who may see what, kept beside the product.
A run draws 100 interleavings; `ops/test tests/access/test_races.py --interleavings 1000` draws more.
"""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connections

from ingestion.models import Document
from ingestion.seams import load
from ingestion.services.corpora import access_replace
from ingestion.services.documents import document_withdraw
from ingestion.services.people import membership_end, membership_start
from qa.models import Answer, Round, Run
from qa.selectors.freshness import Mark
from qa.selectors.outcome import run_outcome
from qa.services import answering, questions, release
from qa.services.door import RunDoor
from tests.ingestion.fakes import Workbench
from tests.qa.services.test_answering import CHANGES, QUESTION, TEXT, _staff, real_embedder

__all__ = ["real_embedder"]
# Where a run can be held: before each question that the loop asks of its door, and between what follows.
STEPS = ("scope", "terms", "search", "candidates", "pages", "read", "round kept", "decided", "release begins")
UPDATE = "update"
PER_TEST = 25
LATEST_POINT = 14  # points that a run of one round passes, about


class Points:
    """Says when a run passes a named step; `at` is told of each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, settings: LazySettings) -> None:
        self.at: Callable[[str], object] = lambda step: None
        points = self

        class HeldDoor(RunDoor):
            def scope(self) -> Any:
                points.at("scope")
                return super().scope()

            def term_pages(self, query: str) -> Any:
                points.at("terms")
                return super().term_pages(query)

            def search(self, query: str, limit: int) -> Any:
                points.at("search")
                return super().search(query, limit)

            def candidates(self, page_ids: Any) -> Any:
                points.at("candidates")
                return super().candidates(page_ids)

            def neighbours(self, page_id: Any, radius: int) -> Any:
                points.at("neighbours")
                return super().neighbours(page_id, radius)

            def pages(self, page_ids: Any) -> Any:
                points.at("pages")
                return super().pages(page_ids)

        real = {
            "decide": answering.decide, "keep": answering._round_keep, "release": answering.run_release,
            "locks": release._assert_unchanged,
        }  # fmt: skip
        reader = load("reader")

        class HeldReader:
            def __getattr__(self, name: str) -> Any:
                return getattr(reader, name)

            def read(self, request: Any) -> Any:
                result = reader.read(request)
                points.at("read")
                return result

        HELD.append(HeldReader())
        settings.SEAMS = {**settings.SEAMS, "reader": {"BACKEND": "tests.access.test_races.held_reader"}}
        load.cache_clear()
        monkeypatch.setattr(answering, "RunDoor", HeldDoor)
        monkeypatch.setattr(answering, "_round_keep", lambda *a: (real["keep"](*a), points.at("round kept"))[0])
        monkeypatch.setattr(answering, "decide", lambda *a: (real["decide"](*a), points.at("decided"))[0])
        monkeypatch.setattr(answering, "run_release", lambda *a: (points.at("release begins"), real["release"](*a))[1])
        monkeypatch.setattr(release, "_assert_unchanged", lambda *a: (real["locks"](*a), points.at("locked"))[0])


HELD: list[object] = []


def held_reader() -> object:
    return HELD[-1]


@pytest.fixture
def points(bench: Workbench, real_embedder: None, monkeypatch: pytest.MonkeyPatch, settings: LazySettings) -> Points:
    return Points(monkeypatch, settings)


class Held:
    """A run in a thread of its own, with connections of its own, that stops at a step until it may go on."""

    def __init__(self, points: Points, step: str, run: Run) -> None:
        self.arrived, self.go, self.step, self.run = threading.Event(), threading.Event(), step, run
        points.at = self._at
        self.thread = threading.Thread(target=self._work)
        self.thread.start()
        assert self.arrived.wait(60), f"the run never came to {step}"

    def _at(self, step: str) -> None:
        if step == self.step and not self.arrived.is_set():
            self.arrived.set()
            assert self.go.wait(60)

    def _work(self) -> None:
        try:
            answering.run_execute(self.run.id)
        finally:
            connections.close_all()

    def finish(self) -> Run:
        self.go.set()
        self.thread.join(60)
        assert not self.thread.is_alive()
        self.run.refresh_from_db()
        return self.run


def _change(bench: Workbench, document: Document, name: str) -> None:
    if name == UPDATE:
        bench.publish(TEXT.replace("24", "36"))
    else:
        CHANGES[name](bench, document)


def _asked(bench: Workbench, product: str = "Orion") -> Run:
    return questions.question_ask(user=bench.cast.alice, corpus_slug="library", text=QUESTION.replace("Orion", product))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", [*CHANGES, UPDATE])
def test_a_change_at_a_step_of_a_run_leaves_nothing_that_rests_on_what_went(
    bench: Workbench, points: Points, name: str, step: str
) -> None:
    document = bench.publish(TEXT)
    held = Held(points, step, _asked(bench))
    _change(bench, document, name)
    run = held.finish()
    assert "24 months" not in str([r.texts for r in Round.objects.filter(run=run)])
    assert "24 months" not in str(list(Answer.objects.values_list("text", flat=True)))
    if name == UPDATE:
        assert run.verdict == "answered" and "36 months" in run_outcome(run)["answer"]
    else:
        assert run.verdict != "answered" and not Answer.objects.exists()


@pytest.mark.parametrize("name", [*CHANGES, UPDATE])
def test_a_change_waits_for_a_release_that_has_its_locks_and_marks_what_was_released(bench: Workbench, points: Points, name: str) -> None:
    document = bench.publish(TEXT)
    held = Held(points, "locked", _asked(bench))
    done = threading.Event()

    def change() -> None:
        try:
            _change(bench, document, name)
        finally:
            done.set()
            connections.close_all()

    thread = threading.Thread(target=change)
    thread.start()
    assert not done.wait(0.5)  # it cannot commit while what it changes is being relied on
    run = held.finish()
    thread.join(60)
    assert done.is_set() and run.verdict == "answered"
    assert run_outcome(run)["mark"] != Mark.CURRENT.value


# --- drawn interleavings -----------------------------------------------------------------------------


@dataclass
class Paper:
    """What the model holds of a document: its fact, and whether the staff and Alice may read it."""

    product: str
    months: int = 0
    here: bool = True
    staff: bool = True
    denied: bool = False


@dataclass
class Model:
    """Who may see what, by the plain rule, beside the product."""

    bench: Workbench
    papers: list[Paper] = field(default_factory=list)
    member: bool = True
    months: int = 100

    def visible(self) -> set[int]:
        return {paper.months for paper in self.papers if self.member and paper.here and paper.staff and not paper.denied}

    def publish(self, paper: Paper) -> None:
        self.months += 1
        paper.months, paper.here = self.months, True
        text = TEXT.replace("Orion", paper.product).replace("24", str(paper.months))
        self.bench.publish(text, external_id=paper.product, **self._lists(paper))

    def set_lists(self, paper: Paper, staff: bool, denied: bool) -> None:
        paper.staff, paper.denied = staff, denied
        if paper.here:
            document = self._document(paper)
            access_replace(actor="t", corpus=document.corpus, document=document, **self._lists(paper))

    def delete(self, paper: Paper) -> None:
        if paper.here:
            paper.here = False
            document_withdraw(actor="t", document=self._document(paper))
            self.bench.deliver()
            self.bench.work()

    def set_member(self, member: bool) -> None:
        if member != self.member:
            self.member = member
            change = membership_start if member else membership_end
            change(group=_staff(self.bench), member=self.bench.cast.alice.principal, actor="t")

    def change(self, draw: random.Random) -> None:
        """One drawn change, committed when this returns."""
        paper = draw.choice(self.papers)
        what = draw.choice(("update", "update", "lists", "lists", "delete", "member"))
        if what == "update":
            self.publish(paper)
        elif what == "lists":
            self.set_lists(paper, draw.random() < 0.5, draw.random() < 0.3)
        elif what == "delete":
            self.delete(paper)
        else:
            self.set_member(not self.member)

    def mend(self, draw: random.Random) -> Paper:
        """What the next question is about; most often it can be answered when its run begins."""
        paper = draw.choice(self.papers)
        if draw.random() < 0.9:
            self.set_member(True)
            self.set_lists(paper, True, False)
            if not paper.here:
                self.publish(paper)
        return paper

    @staticmethod
    def _lists(paper: Paper) -> dict[str, Any]:
        return {"allow": None if paper.staff else ("finance",), "deny": ("user:alice",) if paper.denied else ()}

    def _document(self, paper: Paper) -> Document:
        return Document.objects.get(external_id=paper.product)


def _months(value: object) -> set[int]:
    return {int(found) for found in re.findall(r"lasts (\d+) months", str(value))}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "drawn_seed" in metafunc.fixturenames:
        metafunc.parametrize("drawn_seed", range(metafunc.config.getoption("--interleavings") // PER_TEST))


def test_drawn_interleavings_release_nothing_that_may_not_be_seen_when_they_end(bench: Workbench, points: Points, drawn_seed: int) -> None:
    draw = random.Random(drawn_seed)
    model = Model(bench, [Paper(product) for product in ("Orion", "Vega", "Lyra")])
    for paper in model.papers:
        model.publish(paper)
    answered = changed = 0
    for number in range(PER_TEST):
        points.at = lambda step: None
        asked_for = model.mend(draw)
        when = sorted(draw.randrange(LATEST_POINT) for _ in range(draw.choice((1, 1, 1, 2, 3))))
        passed = 0

        def at(step: str, when: list[int] = when) -> None:
            nonlocal passed, changed
            if step == "locked":
                return  # whatever commits from here on commits after the answer
            while when and when[0] <= passed:
                when.pop(0)
                changed += 1
                model.change(draw)
            passed += 1

        points.at = at
        run = _asked(bench, asked_for.product)
        answering.run_execute(run.id)
        run.refresh_from_db()
        assert run.state == "done", (drawn_seed, number, run.reason)
        released = _months(list(Answer.objects.filter(run=run).values_list("text", flat=True)))
        kept = _months([r.texts for r in Round.objects.filter(run=run)])
        assert released | kept <= model.visible(), (drawn_seed, number)
        answered += bool(released)
    assert answered > PER_TEST // 4 and changed > PER_TEST // 2  # both happen, or nothing was tried
