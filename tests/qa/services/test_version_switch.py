"""Questions without a pause while a document's version is switched: each answer rests on one version, and never on the one before."""

from __future__ import annotations

import threading

import pytest
from django.db import connections

from ingestion.models import Build, Document
from ingestion.seams import load
from qa.models import Answer, Citation, Run
from qa.services import questions
from qa.services.answering import run_execute
from tests.ingestion.fakes import Workbench

QUESTION = "How long does the warranty of the Orion last?"
QUESTIONS = 100


def _manual(months: int) -> str:
    return "\f".join(
        [
            "INTRODUCTION\nThe company makes pumps for breweries.",
            f"WARRANTY\nThe warranty of the Orion lasts {months} months from delivery.",
            f"SERVICE\nThe warranty of the Orion is honoured for {months} months by every dealer.",
        ]
    )


@pytest.fixture(autouse=True)
def real_embedder(bench: Workbench, settings) -> None:
    settings.SEAMS = {
        **settings.SEAMS,
        "page_embedder": {"BACKEND": "ingestion.seams.page_embedder.onnx_text.OnnxTextEmbedder", "OPTIONS": {"folder": None}},
    }
    load.cache_clear()


class Asker(threading.Thread):
    """Asks without a pause."""

    def __init__(self, bench: Workbench, count: int) -> None:
        super().__init__()
        self.bench, self.count = bench, count
        self.answered = threading.Semaphore(0)

    def run(self) -> None:
        for _ in range(self.count):
            run = questions.question_ask(user=self.bench.cast.alice, corpus_slug="library", text=QUESTION)
            run_execute(run.id)
            self.answered.release()
        connections.close_all()


def test_a_hundred_questions_across_a_version_switch(bench: Workbench) -> None:
    document = bench.publish(_manual(24))
    old = document.live_build_id
    askers = [Asker(bench, QUESTIONS // 2) for _ in range(2)]
    for asker in askers:
        asker.start()
    for asker in askers:
        for _ in range(QUESTIONS // 6):
            asker.answered.acquire()
    bench.publish(_manual(36))  # while they go on
    for asker in askers:
        asker.join()
    new = Document.objects.get().live_build_id
    switched = Build.objects.get(id=new).published_at
    assert new != old and Run.objects.filter(state="done", verdict="answered").count() == QUESTIONS
    on_new = 0
    for answer in Answer.objects.prefetch_related("claims__citations"):
        builds = {citation.build_id for claim in answer.claims.all() for citation in claim.citations.all()}
        assert len(builds) == 1 and builds <= {old, new}
        months = "24" if builds == {old} else "36"
        assert f"{months} months" in answer.text and ("36" if months == "24" else "24") not in answer.text
        on_new += builds == {new}
    late = Citation.objects.filter(claim__answer__run__started_at__gt=switched)
    assert late.exists() and not late.exclude(build_id=new).exists()
    assert not Citation.objects.filter(build_id=old, claim__answer__released_at__gt=switched).exists()
    assert QUESTIONS // 3 <= on_new < QUESTIONS


def test_what_an_update_took_away_is_not_answered_any_more(bench: Workbench) -> None:
    modes = "OPERATION\nThe pump has an eco mode and a turbo mode.\fTURBO\nThe turbo mode of the pump runs at 3600 revolutions per minute."
    bench.publish(modes)
    question = "At how many revolutions per minute does the turbo mode run?"

    def ask() -> Run:
        run = questions.question_ask(user=bench.cast.alice, corpus_slug="library", text=question)
        run_execute(run.id)
        run.refresh_from_db()
        return run

    before = ask()
    assert before.verdict == "answered" and "3600" in before.answer.text
    bench.publish("OPERATION\nThe pump has an eco mode.\fECO\nThe eco mode saves energy.")
    after = ask()
    assert after.verdict != "answered" and not Answer.objects.filter(run=after).exists()
