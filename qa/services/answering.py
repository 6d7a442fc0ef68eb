"""Answering a run: the loop proposes, the gate decides, the release checks a third time; begun anew once when the evidence changed."""

from __future__ import annotations

import hashlib
import logging
import time
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.db import connections, transaction
from django.db.models import F
from django.utils import timezone

from ingestion.models import Organisation, Page
from ingestion.seams import load
from ingestion.services.audit import audit_append
from qa.gate.gate import decide
from qa.loop.engine import run_question
from qa.loop.rerank import ModelReranker, ScoreReranker
from qa.loop.settings import LoopSettings, QuestionText
from qa.memory.trail import EndState, Reason, RoundRecord, RunResult
from qa.models import Round, Run, RunPin, RunState
from qa.services.as_of_door import AsOfDoor
from qa.services.door import RunDoor
from qa.services.release import EvidenceChanged, run_release

Door = RunDoor | AsOfDoor
logger = logging.getLogger(__name__)

RESTARTS = 1


def run_execute(run_id: UUID, settings: LoopSettings | None = None) -> bool:
    """Take a waiting run to its end; False when it was not to be had (another worker has it, or it is done).

    When a right or a version that the run rests on changed meanwhile, nothing is released and the run begins anew, once; when it
    changes again the run ends as not found, and says why.
    """
    taken = Run.objects.filter(id=run_id, state=RunState.WAITING)
    if not taken.update(state=RunState.RUNNING, started_at=timezone.now(), attempts=F("attempts") + 1):
        return False
    run = Run.objects.select_related("question__asker", "question__organisation", "as_of_person").get(id=run_id)
    try:
        for attempt in range(RESTARTS + 1):
            run.restarts = attempt
            try:
                _attempt(run, settings or LoopSettings())
                return True
            except EvidenceChanged as changed:
                _restart(run, str(changed))
        _attempt(run, settings or LoopSettings(), give_up=True)
    except Exception as error:
        # the outermost boundary of a question: the asker has to hear of it, whatever it was
        logger.exception("run %s broke", run.id)
        _fail(run, type(error).__name__)
    return True


def _attempt(run: Run, settings: LoopSettings, give_up: bool = False) -> None:
    question = run.question
    where = (question.corpus_slug, question.document_asked, load("page_embedder"))
    door: Door = RunDoor(question.asker, *where)
    if run.as_of is not None:
        door = AsOfDoor(question.asker, run.as_of_person, run.as_of, *where)
    _note_rights(run, door)
    reader = load("reader")
    result = _gave_up(run, door) if give_up else _loop(run, door, reader, settings)
    connections["evidence"].close()
    shown = result.shown
    views = list(door.pages(shown)) if shown else []
    decision = decide(result, {view.page_id: view for view in views}, door.scope())
    facts = {
        "cost": asdict(result.cost),
        "versions": _versions(result),
        "settings": settings.as_json(),
    }
    run_release(run, decision, door.scope(), views, shown, facts)


def _loop(run: Run, door: Door, reader: Any, settings: LoopSettings) -> RunResult:
    started = time.monotonic()

    def keep_round(record: RoundRecord) -> None:
        _round_keep(run, record)

    reranker = None
    if reader.looks_at_pictures:
        reranker = ModelReranker(load("language_model"), ScoreReranker(settings.near_useful))
    return run_question(
        QuestionText(run.question.text),
        door,
        reader,
        settings,
        run.seed,
        keep_round,
        reranker=reranker,
        elapsed=lambda: time.monotonic() - started,
        draw_crop=door.crop if reader.looks_at_pictures else None,
    )


def _gave_up(run: Run, door: Door) -> RunResult:
    """The evidence changed again: nothing that was read counts."""
    scope = door.scope()
    if scope.visible_pages == 0:
        return RunResult(EndState.NO_READABLE_DOCUMENTS, Reason.NO_VISIBLE_PAGES, seed=run.seed)
    return RunResult(EndState.NOT_FOUND, Reason.EVIDENCE_CHANGED, seed=run.seed)


def _note_rights(run: Run, door: Door) -> None:
    asker = door.asker()
    run.tags = sorted(str(tag) for tag in asker.tags)
    run.access_epoch = Organisation.objects.values_list("access_epoch", flat=True).get(id=asker.organisation_id)
    run.corpus_epoch = door.scope().epoch
    run.save(update_fields=["tags", "access_epoch", "corpus_epoch", "restarts"])


def _versions(result: RunResult) -> dict[str, str]:
    space = load("page_embedder").space
    return {**result.versions, "embedder": f"{space.name} {space.fingerprint[:16]}"}


def _round_keep(run: Run, record: RoundRecord) -> None:
    """A round as it was, so that the portal can show it while the next one goes on."""
    pages = list(Page.objects.filter(id__in=record.shown).select_related("build"))
    shown = {page.id: page.number for page in pages}
    kept = {
        **record.record(),
        "page_numbers": [shown[page_id] for page_id in record.shown if page_id in shown],
        # what parsing found odd about a page (hidden text, a layer that differs from the picture): codes, no text
        "page_flags": {str(page.id): page.warnings for page in sorted(pages, key=lambda p: str(p.id)) if page.warnings},
        "query_sha256": hashlib.sha256(record.query.encode()).hexdigest(),
    }
    with transaction.atomic():
        # the pins lead a purge to the texts of the round, also when the run never comes to a release
        pinned = {page.document_id: page.build for page in pages}
        RunPin.objects.bulk_create(
            [RunPin(run=run, document_id=d, version_id=build.version_id, build=build) for d, build in pinned.items()],
            ignore_conflicts=True,
        )
        Round.objects.update_or_create(run=run, number=record.number, defaults={"record": kept, "texts": record.texts()})


@transaction.atomic
def _restart(run: Run, why: str) -> None:
    """Nothing was released; what had been read is recorded and taken off the run."""
    rounds = list(Round.objects.filter(run=run).order_by("number"))
    audit_append(
        organisation=run.question.organisation, act="question.restarted", subject=str(run.id), actor=str(run.question.asker_id),
        body={"why": why, "rounds": [{"number": r.number, "record": r.record} for r in rounds]},
    )  # fmt: skip
    Round.objects.filter(run=run).delete()
    RunPin.objects.filter(run=run).delete()


@transaction.atomic
def _fail(run: Run, kind: str) -> None:
    Run.objects.filter(id=run.id).update(state=RunState.FAILED, reason="broken", finished_at=timezone.now())
    audit_append(
        organisation=run.question.organisation, act="question.failed", subject=str(run.id), actor=str(run.question.asker_id),
        body={"kind": kind},
    )  # fmt: skip
