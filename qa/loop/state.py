"""The steps of one round, on the state of one run. `engine.py` says in which order they come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from uuid import UUID

from ingestion.domain.evidence import PageCandidate, PageView, Scope
from ingestion.domain.pages import Box
from qa.loop.crops import DrawCrop
from qa.loop.ports import EvidenceDoor, TextPages
from qa.loop.read import Reading, build_request, request_summary, votes_of, with_pictures
from qa.loop.rerank import Reranker, RerankRequest, RerankResult, completed
from qa.loop.retrieve import Pool, Searches, choose_pool, neighbours_of, score_pool, search
from qa.loop.settings import LoopSettings, QuestionText, bounded_query
from qa.memory.belief import BeliefMemory, VoteOutcome
from qa.memory.episodic import Episode, EpisodicBrief, EpisodicMemory
from qa.memory.schema import SchemaMemory
from qa.memory.trail import Cost, Reason, RoundRecord
from qa.seams.reader import Reader, ReadRequest, ReadResult


@dataclass(slots=True)
class RunState:
    """What changes while a question is worked on."""

    scope: Scope
    schema: SchemaMemory
    belief: BeliefMemory
    first_query: str
    query: str
    episodic: EpisodicMemory = EpisodicMemory()
    searches: Searches = Searches()
    near: tuple[PageCandidate, ...] = ()
    distance: Mapping[UUID, int] = field(default_factory=dict)
    views: dict[UUID, PageView] = field(default_factory=dict)
    seen: frozenset[UUID] = frozenset()
    quoted: frozenset[UUID] = frozenset()  # pages of which a quote was verified
    wanted_crops: Mapping[UUID, str] = field(default_factory=dict)
    crops: tuple[tuple[UUID, Box], ...] = ()
    term_pages: Mapping[str, int] = field(default_factory=dict)
    rounds: tuple[RoundRecord, ...] = ()
    cost: Cost = Cost()


def make_pool(run: RunState, question: QuestionText, door: EvidenceDoor, settings: LoopSettings, seed: int, number: int) -> Pool:
    if not run.searches.first:
        run.searches = Searches(search(door, question.search, settings))
    share = settings.refined_share(number)
    if run.query != question.search and share:
        run.searches = replace(run.searches, refined=search(door, run.query, settings))
    ranking = run.searches.ranking(share)
    pages = {c.page_id: c for c in (*ranking.pages, *run.near)}
    useful = run.belief.useful_pages() if settings.use_belief else ()
    near = run.near if settings.use_belief else ()
    places = choose_pool(ranking, near, run.seen, useful, settings, seed, number)
    run.schema = run.schema.with_candidates(pages.values())
    run.belief = run.belief.admit(run.schema)
    return score_pool(places, pages, ranking.similarity, run.schema, run.belief, run.seen, settings, seed, number)


def nothing_new(run: RunState, pool: Pool, settings: LoopSettings) -> bool:
    """An old query again, and every unseen page lies below the floor."""
    repeated = any(run.query == record.query for record in run.rounds)
    return repeated and all(c.similarity < settings.similarity_floor for c in pool.fresh)


def rerank(run: RunState, question: QuestionText, pool: Pool, reranker: Reranker, settings: LoopSettings) -> RerankResult:
    result = reranker.rerank(
        RerankRequest(
            question=question.text,
            query=run.query,
            candidates=pool.candidates,
            pages=pool.pages,
            near=run.distance if settings.use_belief else {},
            brief=_brief(run, settings),
            sections=run.schema.sections(),
        )
    )
    return replace(result, order=completed(result.order, [c.page_id for c in pool.candidates]))


def choose_pages(run: RunState, door: EvidenceDoor, order: RerankResult, settings: LoopSettings) -> list[PageView]:
    """Pages for the reader in the rerank's order: most places for pages never shown, a few for useful ones shown again."""
    carried = [p for p in order.order if p in run.seen][: settings.carried_slots]
    fresh = [p for p in order.order if p not in run.seen][: settings.pages_per_round - len(carried)]
    chosen = {*carried, *fresh}
    views = door.pages([page_id for page_id in order.order if page_id in chosen])
    return [view for view in views if view.page_id in chosen and view.build_id in run.scope.build_ids]


def request_of(
    run: RunState, question: QuestionText, views: list[PageView], reader: Reader, door: EvidenceDoor, settings: LoopSettings,
    draw_crop: DrawCrop | None, number: int,
) -> ReadRequest:  # fmt: skip
    run.views.update({view.page_id: view for view in views})
    last = number == settings.rounds
    request = build_request(question.text, run.query, views, number, _brief(run, settings), run.scope, run.term_pages, last)
    request = with_pictures(request, reader, door, settings, draw_crop, run.wanted_crops, run.crops)
    run.crops = (*run.crops, *((crop.page_id, crop.box) for crop in request.crops))
    return request


def remember(
    run: RunState, door: EvidenceDoor, settings: LoopSettings, request: ReadRequest, reading: Reading | None, number: int
) -> VoteOutcome:
    """Beliefs, then the episode, then the next query. Pages of a failed reading count as not seen: they are tried again."""
    if reading is None:
        return VoteOutcome()
    result, shown = reading.result, [view.page_id for view in request.pages]
    run.quoted |= reading.quoted
    votes = votes_of(result, number, shown, run.quoted)
    if settings.use_belief:
        near, distance = neighbours_of(door, [p for p in votes.useful if p in shown], settings)
        run.near = (*run.near, *(c for c in near if c.page_id not in {n.page_id for n in run.near}))
        run.distance = {**run.distance, **{p: min(d, run.distance.get(p, d)) for p, d in distance.items()}}
        run.schema = run.schema.with_candidates(near)
        run.belief = run.belief.admit(run.schema)
    run.belief, outcome = run.belief.vote(votes)
    run.seen = run.seen | set(shown)
    run.wanted_crops = {**run.wanted_crops, **{c.page_id: c.kind for c in result.crop_requests if c.page_id in run.views}}
    verdicts = {p: "useful" if p in outcome.useful else "irrelevant" if p in outcome.irrelevant else "unsure" for p in shown}
    run.episodic = run.episodic.with_episode(
        Episode(
            number, run.query, MappingProxyType(verdicts), result.findings, result.missing, result.refined_query, result.status
        )
    )
    if settings.use_episodic and result.refined_query.strip():
        run.query = bounded_query(result.refined_query)
    return outcome


def _in_text(result: ReadResult, text_pages: TextPages | None) -> bool:
    if text_pages is None:
        return False
    found = text_pages(tuple(result.absent_terms))
    return any(found.get(term, 1) for term in result.absent_terms)


def _stands_on_a_page_in_hand(run: RunState, terms: Iterable[str]) -> bool:
    """A reader may call a term absent because a page told it to: the pages that were read are looked at for the term itself."""
    texts = ["".join(filter(str.isalnum, view.text.lower())) for view in run.views.values()]
    bare = ["".join(filter(str.isalnum, term.lower())) for term in terms]
    return any(not term or any(term in text for text in texts) for term in bare)


def _brief(run: RunState, settings: LoopSettings) -> EpisodicBrief:
    numbers = {page_id: view.number for page_id, view in run.views.items()}
    return (run.episodic if settings.use_episodic else EpisodicMemory()).brief(numbers, settings.brief_characters)


def absence(run: RunState, reader: Reader, result: ReadResult, text_pages: TextPages | None) -> Reason | None:
    """What proves that the answer is not there: a decisive word on no visible page, or every visible page read. Else nothing does.

    The reader's word alone proves nothing: a page that it called useful and of which a quote was verified speaks against it.

    Counts by lexeme miss a word inside a longer one (a year in 25.04.2018); `text_pages`, where given, looks at the text itself.
    """
    if run.scope.unreadable_pages and not reader.looks_at_pictures:
        return None
    forms = [form for counted in result.absent_terms.values() for form in counted]
    counted = bool(forms) and all(result.absent_terms.values()) and not run.scope.unreadable_pages
    absent = counted and all(run.term_pages.get(form) == 0 for form in forms)
    if absent and not _stands_on_a_page_in_hand(run, result.absent_terms) and not _in_text(result, text_pages):
        return Reason.TERMS_ABSENT
    if run.quoted.intersection(run.belief.useful_pages()):
        return None
    return Reason.ALL_PAGES_READ if len(run.seen) >= run.scope.visible_pages else None


def record_of(
    run: RunState, settings: LoopSettings, number: int, pool: Pool, order: RerankResult, request: ReadRequest,
    reading: Reading | None, failure: str, outcome: VoteOutcome, versions: Mapping[str, str], seconds: float, query: str,
) -> RoundRecord:  # fmt: skip
    """Everything that an audit or a replay of this round needs."""
    shown = tuple(view.page_id for view in request.pages)
    verdicts = dict(run.episodic.episodes[-1].verdicts) if reading else {}
    candidates = tuple(replace(c, verdict=verdicts.get(c.page_id, "") if c.page_id in shown else "") for c in pool.candidates)
    result = reading.result if reading else None
    usage = result.usage if result else None
    base = RoundRecord(
        number=number,
        query=query,
        candidates=candidates,
        order=order.order,
        shown=shown,
        status=str(result.status) if result else "failed",
        weight=settings.weight(number),
        failure=failure,
        propagated=outcome.propagated,
        dropped=outcome.dropped,
        flags=(*order.flags, *(reading.flags if reading else ())),
        crops=tuple((crop.page_id, crop.box) for crop in request.crops),
        versions=versions,
        request=request_summary(request),
        response={"rerank": dict(order.response), "reader": dict(result.response) if result else {}},
        cost=Cost(
            searches=1 if number == 1 or (query != run.first_query and settings.refined_share(number)) else 0,
            pages=len(shown),
            calls=order.calls + (usage.calls if usage else 1),
            input_tokens=order.input_tokens + (usage.input_tokens if usage else 0),
            output_tokens=order.output_tokens + (usage.output_tokens if usage else 0),
            seconds=seconds,
        ),
    )
    return _with_result(base, result) if result else base


def _with_result(record: RoundRecord, result: ReadResult) -> RoundRecord:
    return replace(
        record,
        confidence=result.confidence,
        answer=result.answer,
        claims=result.claims,
        findings=result.findings,
        missing=result.missing,
        refined_query=result.refined_query,
    )
