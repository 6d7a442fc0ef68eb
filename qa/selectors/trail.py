"""The audit's view of runs: everything that was recorded, and of texts what the auditor's own tags cover."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.paginator import Page as PaginatedPage
from django.core.paginator import Paginator
from django.db.models import Count, Q

from ingestion.models import AuditEntry, AuditPayload, User
from ingestion.selectors.visibility import asker_for, principal_names
from qa.models import Claim, Round, Run, RunPin, RunState, Verdict
from qa.selectors.portal import VERDICT_WORDS, ClaimView, claim_view, reason_sentence
from qa.selectors.rounds import PagePlace, page_ids_of, page_places
from qa.selectors.standing import Standing, standings

RUNS_A_PAGE = 50
ENDING_ACTS = ("question.answered", "question.abstained")
TEXT_NAMES = (
    ("query", "Query"), ("request", "Reader input"), ("response", "Reader output"), ("findings", "Findings"),
    ("missing", "Still missing"), ("refined_query", "Refined query"), ("claims", "Claims proposed"),
)  # fmt: skip


# --- the list of runs --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TrailRow:
    id: UUID
    question: str
    asker: str
    corpus_slug: str
    state: str
    verdict: str
    verdict_title: str
    reason: str
    rounds: int
    asked_at: datetime


def organisation_runs(auditor: User, *, person: str = "", verdict: str = "", page: str | int = 1) -> tuple[list[TrailRow], PaginatedPage]:
    """Runs of the auditor's organisation, newest first; `person` is part of a name, `verdict` an end state, `open` or `failed`."""
    runs = (
        Run.objects.filter(question__organisation_id=auditor.organisation_id)
        .select_related("question__asker")
        .annotate(round_count=Count("rounds"))
        .order_by("-created_at")
    )
    if person:
        runs = runs.filter(Q(question__asker__username__icontains=person) | Q(question__asker__name__icontains=person))
    if verdict in Verdict.values:
        runs = runs.filter(verdict=verdict)
    elif verdict == "open":
        runs = runs.filter(state__in=[RunState.WAITING, RunState.RUNNING])
    elif verdict == "failed":
        runs = runs.filter(state=RunState.FAILED)
    shown = Paginator(runs, RUNS_A_PAGE).get_page(page)
    return [_trail_row(run) for run in shown], shown


def _trail_row(run: Run) -> TrailRow:
    question = run.question
    return TrailRow(
        id=run.id,
        question=question.text,
        asker=question.asker.username,
        corpus_slug=question.corpus_slug,
        state=run.state,
        verdict=run.verdict,
        verdict_title=VERDICT_WORDS.get(run.verdict, ("", ""))[0],
        reason=run.reason,
        rounds=run.round_count,
        asked_at=question.asked_at,
    )


def audited_run(auditor: User, run_id: UUID) -> Run | None:
    """The run, if it is of the auditor's organisation."""
    return (
        Run.objects.filter(id=run_id, question__organisation_id=auditor.organisation_id)
        .select_related("question__asker", "question__organisation")
        .first()
    )


# --- one run's trail ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """A page of a round's pool; `place` is None when the page is no longer held."""

    rank: int
    page_id: str
    place: PagePlace | None
    similarity: float
    draw: float
    score: float
    alpha: float
    beta: float
    reason: str
    verdict: str
    shown: bool
    openable: bool
    flags: tuple[str, ...] = ()  # what parsing found odd about the page


@dataclass(frozen=True, slots=True)
class TextView:
    """A text of a round. `text` is None where the auditor's tags do not cover the pages it may come from, or it was erased."""

    title: str
    text: str | None


@dataclass(frozen=True, slots=True)
class TrailRound:
    number: int
    status: str
    failure: str
    facts: tuple[tuple[str, str], ...]
    candidates: tuple[CandidateRow, ...]
    texts: tuple[TextView, ...]
    restricted: bool


@dataclass(frozen=True, slots=True)
class EntryRow:
    """An entry of the chain; `payloads` are (name, whether it was erased)."""

    position: int
    act: str
    at: datetime
    entry_hash: str
    previous_hash: str
    payloads: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class PinRow:
    title: str
    version: int
    build_id: UUID


@dataclass(frozen=True, slots=True)
class Trail:
    """A run in full. `erased` is true when its texts were erased; `differs` when its rows no longer say what its entry says."""

    run: Run
    question: str | None
    verdict_title: str
    reason: str
    tags: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]
    cost: tuple[tuple[str, str], ...]
    checks: tuple[Mapping[str, Any], ...]
    rounds: tuple[TrailRound, ...]
    claims: tuple[ClaimView, ...]
    pins: tuple[PinRow, ...]
    entries: tuple[EntryRow, ...]
    erased: bool
    differs: bool


def run_trail(auditor: User, run: Run) -> Trail:
    """The trail from the run's audit entry; of a run that has not ended, from its rows."""
    entries = list(AuditEntry.objects.filter(organisation_id=run.question.organisation_id, subject=str(run.id)).order_by("position"))
    payloads = list(AuditPayload.objects.filter(entry__in=entries).defer("salt"))
    ending = next((entry for entry in reversed(entries) if entry.act in ENDING_ACTS), None)
    rounds = list(Round.objects.filter(run=run).order_by("number"))
    kept = {payload.name: payload for payload in payloads if ending and payload.entry_id == ending.id}
    body = ending.body if ending else _body_of_rows(run, rounds)
    erased = any(payload.erased_at for payload in kept.values())
    texts = _texts(rounds, kept.get("rounds"))
    claims = list(Claim.objects.filter(answer__run=run).order_by("ordinal").prefetch_related("citations__document", "citations__version"))
    records = body.get("rounds") or []
    now = standings(asker_for(auditor), [*_page_ids(records), *(c.page_id for claim in claims for c in claim.citations.all())])
    return Trail(
        run=run,
        question=None if kept.get("question") and kept["question"].erased_at else run.question.text,
        verdict_title=VERDICT_WORDS.get(run.verdict, ("", ""))[0],
        reason=reason_sentence(run.reason) if run.state == RunState.DONE else run.reason,
        tags=_tag_names(run.question.organisation_id, body.get("tags") or []),
        settings=tuple(flat(body.get("settings") or {})),
        versions=tuple(flat(body.get("versions") or {})),
        cost=tuple(flat(body.get("cost") or {})),
        checks=tuple(check for check in body.get("checks") or [] if isinstance(check, dict)),
        rounds=tuple(_trail_rounds(records, texts, now)),
        claims=() if erased else tuple(claim_view(number, claim, now) for number, claim in enumerate(claims, start=1)),
        pins=_pins(run),
        entries=tuple(_entry_row(entry, payloads) for entry in entries),
        erased=erased,
        differs=ending is not None and _differs(run, rounds, ending.body),
    )


def _body_of_rows(run: Run, rounds: Sequence[Round]) -> dict[str, Any]:
    return {
        "tags": run.tags, "settings": run.settings, "versions": run.versions, "cost": run.cost, "checks": run.checks,
        "rounds": [{"number": item.number, "record": item.record} for item in rounds],
    }  # fmt: skip


def _differs(run: Run, rounds: Sequence[Round], body: Mapping[str, Any]) -> bool:
    """Rows can be changed, the chain cannot: what an employee is shown must still be what was recorded."""
    rows = [{"number": item.number, "record": item.record} for item in rounds]
    told = (body.get("verdict"), body.get("reason"), body.get("seed"), body.get("rounds"))
    return told != (run.verdict, run.reason, run.seed, rows)


def _texts(rounds: Sequence[Round], payload: AuditPayload | None) -> dict[int, Mapping[str, Any]]:
    if payload is None:
        return {item.number: item.texts for item in rounds}
    return {item["number"]: item["texts"] for item in payload.content or []}


def _page_ids(records: Sequence[Mapping[str, Any]]) -> list[UUID]:
    found: list[UUID] = []
    for item in records:
        record = item.get("record") or {}
        found += page_ids_of(candidate.get("page_id") for candidate in record.get("candidates") or [])
        found += page_ids_of(record.get("shown") or [])
    return found


def _tag_names(organisation_id: UUID, tags: Sequence[Any]) -> tuple[str, ...]:
    return tuple(principal_names(organisation_id, page_ids_of(tags)))


def _pins(run: Run) -> tuple[PinRow, ...]:
    pins = RunPin.objects.filter(run=run).select_related("document", "version").order_by("document__external_id")
    return tuple(PinRow(str(pin.document), pin.version.number, pin.build_id) for pin in pins)


def _entry_row(entry: AuditEntry, payloads: Sequence[AuditPayload]) -> EntryRow:
    own = sorted((p.name, p.erased_at is not None) for p in payloads if p.entry_id == entry.id)
    return EntryRow(entry.position, entry.act, entry.at, entry.entry_hash, entry.previous_hash, tuple(own))


def _trail_rounds(
    records: Sequence[Mapping[str, Any]], texts: Mapping[int, Mapping[str, Any]], now: Mapping[UUID, Standing]
) -> Iterator[TrailRound]:
    """What a round says may come from every page shown up to then, so all of them must be the auditor's to read."""
    places = page_places(now)
    covered = True
    for item in records:
        record, number = item.get("record") or {}, int(item.get("number") or 0)
        shown = page_ids_of(record.get("shown") or [])
        before, covered = covered, covered and all(now[page_id].text_may_be_shown for page_id in shown)
        held = texts.get(number)
        yield TrailRound(
            number=number,
            status=str(record.get("status") or ""),
            failure=str(record.get("failure") or ""),
            facts=tuple(flat({key: record.get(key) for key in ("lambda", "confidence", "flags", "dropped_votes", "cost", "versions")})),
            candidates=tuple(_candidates(record, set(shown), places, now)),
            texts=() if held is None else tuple(_round_texts(held, before, covered)),
            restricted=not covered,
        )


def _candidates(
    record: Mapping[str, Any], shown: set[UUID], places: Mapping[UUID, PagePlace], now: Mapping[UUID, Standing]
) -> Iterator[CandidateRow]:
    order = {page_id: rank for rank, page_id in enumerate(page_ids_of(record.get("order") or []), start=1)}
    rows = [(page_id, row) for row in record.get("candidates") or [] for page_id in page_ids_of([row.get("page_id")])]
    flags: Mapping[str, Any] = record.get("page_flags") or {}
    rows.sort(key=lambda pair: (order.get(pair[0], len(rows) + 1), -_decimal(pair[1], "score")))
    for rank, (page_id, row) in enumerate(rows, start=1):
        yield CandidateRow(
            rank=rank,
            page_id=str(page_id),
            place=places.get(page_id),
            similarity=_decimal(row, "similarity"),
            draw=_decimal(row, "draw"),
            score=_decimal(row, "score"),
            alpha=_decimal(row, "alpha"),
            beta=_decimal(row, "beta"),
            reason=str(row.get("place") or ""),
            verdict=str(row.get("verdict") or ""),
            shown=page_id in shown,
            openable=now.get(page_id) is Standing.OPEN,
            flags=tuple(str(flag).replace("_", " ") for flag in flags.get(str(page_id)) or ()),
        )


def _round_texts(texts: Mapping[str, Any], before: bool, covered: bool) -> Iterator[TextView]:
    for name, title in TEXT_NAMES:
        value = texts.get(name)
        if value in (None, "", [], {}):
            continue
        allowed = before if name == "query" else covered  # a query was written before this round's pages were read
        yield TextView(title, _pretty(value) if allowed else None)


def _decimal(row: Mapping[str, Any], name: str) -> float:
    value = row.get(name)
    return float(value) if isinstance(value, int | float) else 0.0


def _pretty(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested settings as lines: ("belief.gamma", "0.5")."""
    for key, held in value.items():
        name = f"{prefix}{key}"
        if isinstance(held, Mapping):
            yield from flat(held, f"{name}.")
        elif held not in (None, "", [], ()):
            yield name, ", ".join(map(_short, held)) if isinstance(held, list | tuple) else _short(held)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else json.dumps(value) if isinstance(value, dict | list) else str(value)
