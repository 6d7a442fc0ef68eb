"""THE ROUNDS: retrieve, rerank, read, update the memories, until there is enough or nothing more to try; at most three times.

The engine proposes; only the gate releases. It has no clock, no database and no model: the door, the reader, the reranker, the
seconds and the drawing of crops are given to it. With the same answers from them and the same seed it does the same again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ingestion.domain.evidence import Scope
from qa.loop import state
from qa.loop.crops import DrawCrop
from qa.loop.ports import EvidenceDoor, TextPages
from qa.loop.read import Reading, checked
from qa.loop.rerank import Reranker, ScoreReranker
from qa.loop.settings import LoopSettings, QuestionText
from qa.memory.belief import BeliefMemory
from qa.memory.schema import SchemaMemory
from qa.memory.trail import EndState, Reason, RoundRecord, RunResult
from qa.seams.reader import Reader, ReaderFailure, ReadRequest, ReadResult, ReadStatus


@dataclass(frozen=True, slots=True)
class _Means:
    """What a run works with and never changes."""

    question: QuestionText
    door: EvidenceDoor
    reader: Reader
    reranker: Reranker
    settings: LoopSettings
    seed: int
    elapsed: Callable[[], float]
    draw_crop: DrawCrop | None

    @property
    def versions(self) -> Mapping[str, str]:
        return {**self.reader.versions, **self.reranker.versions}


def run_question(
    question: QuestionText,
    door: EvidenceDoor,
    reader: Reader,
    settings: LoopSettings,
    seed: int,
    on_round: Callable[[RoundRecord], None] = lambda record: None,
    *,
    reranker: Reranker | None = None,
    elapsed: Callable[[], float] = lambda: 0.0,
    draw_crop: DrawCrop | None = None,
    text_pages: TextPages | None = None,
) -> RunResult:
    """Work on the question for at most `settings.rounds` rounds; `on_round` hears of each round when it is done.

    `elapsed` gives the seconds since the question was taken up, `draw_crop` draws a part of a page as JPEG,
    `text_pages` confirms from the texts themselves that a term stands on no visible page. Failures of the reader
    end in the result; failures of the door and of the callbacks pass through to the caller.
    """
    means = _Means(question, door, reader, reranker or ScoreReranker(settings.near_useful), settings, seed, elapsed, draw_crop)
    scope = door.scope()
    schema = SchemaMemory(use_priors=settings.use_schema)
    run = state.RunState(scope, schema, BeliefMemory(settings.belief), question.search, question.search)
    if unreadable := _no_readable_documents(scope, reader):
        return _ended(means, run, EndState.NO_READABLE_DOCUMENTS, unreadable)
    words = reader.vocabulary(question.text)
    run.term_pages = dict(door.term_pages(words)) if words else {}
    why = Reason.ROUNDS_SPENT
    for number in range(1, settings.rounds + 1):
        if settings.budget.spent(run.cost, elapsed()):
            return _ended(means, run, EndState.NOT_FOUND, Reason.BUDGET_SPENT)
        done = _round(means, run, number)
        if isinstance(done, Reason):
            return _ended(means, run, EndState.NOT_FOUND, done)
        record, reading = done
        run.rounds, run.cost = (*run.rounds, record), run.cost + record.cost
        on_round(record)
        if reading is None:
            why = Reason.READER_FAILED
        elif reading.result.status is ReadStatus.ANSWER:
            return _ended(means, run, EndState.ANSWERED, Reason.ANSWERED, reading.result)
        elif reading.result.status is ReadStatus.NOT_ANSWERABLE:
            if proof := state.absence(run, reader, reading.result, text_pages):
                return _ended(means, run, EndState.NOT_IN_DOCUMENTS, proof, reading.result)
            why = Reason.ABSENCE_UNPROVEN
        else:
            why = Reason.ROUNDS_SPENT
    return _ended(means, run, EndState.NOT_FOUND, why)


def _no_readable_documents(scope: Scope, reader: Reader) -> Reason | None:
    if scope.visible_pages == 0:
        return Reason.NO_VISIBLE_PAGES
    if scope.unreadable_pages >= scope.visible_pages and not reader.looks_at_pictures:
        return Reason.NO_READABLE_PAGES
    return None


def _round(means: _Means, run: state.RunState, number: int) -> tuple[RoundRecord, Reading | None] | Reason:
    """One round with what came of it (no reading: the reader failed), or why there was nothing to do."""
    settings, started, query = means.settings, means.elapsed(), run.query
    pool = state.make_pool(run, means.question, means.door, settings, means.seed, number)
    if not pool.fresh:
        return Reason.NO_UNSEEN_PAGE
    if state.nothing_new(run, pool, settings):
        return Reason.NOTHING_NEW
    order = state.rerank(run, means.question, pool, means.reranker, settings)
    views = state.choose_pages(run, means.door, order, settings)
    if not views:
        return Reason.NO_UNSEEN_PAGE
    request = state.request_of(run, means.question, views, means.reader, means.door, settings, means.draw_crop, number)
    reading, failure = _read(means.reader, request, run)
    outcome = state.remember(run, means.door, settings, request, reading, number)
    seconds = means.elapsed() - started
    record = state.record_of(run, settings, number, pool, order, request, reading, failure, outcome, means.versions, seconds, query)
    return record, reading


def _read(reader: Reader, request: ReadRequest, run: state.RunState) -> tuple[Reading | None, str]:
    try:
        return checked(reader.read(request), run.views), ""
    except ReaderFailure as failure:
        return None, failure.code


def _ended(means: _Means, run: state.RunState, status: EndState, reason: Reason, result: ReadResult | None = None) -> RunResult:
    return RunResult(
        status=status,
        reason=reason,
        claims=result.claims if result and status is EndState.ANSWERED else (),
        answer=result.answer if result and status is EndState.ANSWERED else "",
        confidence=result.confidence if result else 0.0,
        verbatim=means.reader.verbatim,
        pictures_read=means.reader.looks_at_pictures,
        absent_terms=result.absent_terms if result and status is EndState.NOT_IN_DOCUMENTS else {},
        rounds=run.rounds,
        cost=run.cost,
        build_ids=frozenset(run.scope.build_ids),
        seed=means.seed,
        versions=means.versions,
    )
