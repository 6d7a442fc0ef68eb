from __future__ import annotations

from collections.abc import Callable

import pytest
from django.conf import LazySettings

from ingestion.seams import load
from ingestion.services.pipeline import pipeline_fingerprint
from qa.models import Run
from qa.seams.reader import Reader
from qa.services.answering import run_execute
from qa.services.questions import question_ask
from tests.ingestion.fakes import Workbench, bench
from tests.security.world import QUESTION

__all__ = ["bench"]

HELD: list[Reader] = []


class NoModel:
    """A language model that is away: the order by score stands."""

    def complete(self, request: object) -> None:
        from ingestion.seams.language_model import ModelFailure

        raise ModelFailure("model_unavailable", "none here")


def held_reader() -> Reader:
    return HELD[-1]


@pytest.fixture
def held(bench: Workbench, settings: LazySettings) -> Workbench:
    """The workbench, whose documents are plain text, with whichever reader is held."""
    settings.SEAMS = {
        **settings.SEAMS,
        "language_model": {"BACKEND": "tests.security.conftest.NoModel"},
        "reader": {"BACKEND": "tests.security.conftest.held_reader"},
    }
    load.cache_clear()
    return bench


@pytest.fixture
def pdf_bench(held: Workbench, settings: LazySettings) -> Workbench:
    """The same with the product's own renderer and parser."""
    settings.SEAMS = {
        **settings.SEAMS,
        "renderer": {"BACKEND": "ingestion.seams.renderer.pdfium.PdfiumRenderer", "OPTIONS": {}},
        "parser": {"BACKEND": "ingestion.seams.parser.pdfium_text.PdfiumTextParser", "OPTIONS": {}},
    }
    settings.PIPELINE = {**settings.PIPELINE, "PAGE_WINDOW": 25}
    load.cache_clear()
    pipeline_fingerprint.cache_clear()
    return held


@pytest.fixture
def ask(held: Workbench) -> Callable[..., Run]:
    """Alice asks, and this reader reads."""

    def asked(reader: Reader, **fields: object) -> Run:
        HELD.append(reader)
        load.cache_clear()
        run = question_ask(user=held.cast.alice, corpus_slug="library", text=QUESTION, seed=5, **fields)
        run_execute(run.id)
        run.refresh_from_db()
        return run

    return asked
