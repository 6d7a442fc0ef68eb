"""Making a round's pool: down the similarity ranking first, then neighbours of useful pages, then a few pages nobody would try."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from ingestion.domain.evidence import PageCandidate
from qa.loop.ports import EvidenceDoor
from qa.loop.settings import LoopSettings, Selection
from qa.memory.belief import BeliefMemory
from qa.memory.schema import SchemaMemory
from qa.memory.trail import CandidateRecord

_EXPLORING = 1  # keeps the generator that picks pages to explore apart from the one that draws theta


@dataclass(frozen=True, slots=True)
class Ranking:
    """Pages with the similarity that counts this round, best first."""

    pages: tuple[PageCandidate, ...]
    similarity: Mapping[UUID, float]


@dataclass(frozen=True, slots=True)
class Searches:
    """What the question's own query and the newest refined one found."""

    first: tuple[PageCandidate, ...] = ()
    refined: tuple[PageCandidate, ...] = ()

    def ranking(self, refined_share: float) -> Ranking:
        """Both similarities mixed, so that a refined query that drifts cannot turn the question's own ranking over."""
        share = refined_share if self.refined else 0.0
        own = {c.page_id: c.similarity for c in self.first}
        new = {c.page_id: c.similarity for c in self.refined}
        pages = {c.page_id: c for c in (*self.first, *self.refined)}
        similarity = {p: (1.0 - share) * own.get(p, 0.0) + share * new.get(p, 0.0) for p in pages}
        place = {page_id: index for index, page_id in enumerate(pages)}
        ordered = sorted(pages.values(), key=lambda c: (-similarity[c.page_id], place[c.page_id]))
        return Ranking(tuple(ordered), similarity)


@dataclass(frozen=True, slots=True)
class Pool:
    """The candidates of a round by score, with where each came from. `fresh` are those never shown."""

    candidates: tuple[CandidateRecord, ...]
    pages: Mapping[UUID, PageCandidate]

    @property
    def fresh(self) -> tuple[CandidateRecord, ...]:
        return tuple(c for c in self.candidates if not c.seen)


def search(door: EvidenceDoor, query: str, settings: LoopSettings) -> tuple[PageCandidate, ...]:
    return tuple(door.search(query, settings.search_limit))


def neighbours_of(
    door: EvidenceDoor, useful: Sequence[UUID], settings: LoopSettings
) -> tuple[tuple[PageCandidate, ...], dict[UUID, int]]:
    """Visible neighbours of useful pages with their facts, and for each how far the nearest useful page is."""
    distance: dict[UUID, int] = {}
    numbers = {c.page_id: c.number for c in door.candidates(useful)} if useful else {}
    near = {page_id: tuple(door.neighbours(page_id, settings.belief.radius)) for page_id in useful if page_id in numbers}
    found = door.candidates(list(dict.fromkeys(p for pages in near.values() for p in pages))) if near else ()
    for page_id, pages in near.items():
        for candidate in found:
            if candidate.page_id in pages:
                gap = abs(candidate.number - numbers[page_id])
                distance[candidate.page_id] = min(distance.get(candidate.page_id, gap), gap)
    return tuple(found), distance


def choose_pool(
    ranking: Ranking,
    near: Sequence[PageCandidate],
    seen: frozenset[UUID],
    useful: Sequence[UUID],
    settings: LoopSettings,
    seed: int,
    round_number: int,
) -> dict[UUID, str]:
    """Page id -> why it is in the pool. A page that was shown comes back only if it was useful."""
    unseen = [c for c in ranking.pages if c.page_id not in seen]
    places = {c.page_id: "similarity" for c in unseen[: settings.pool]}
    for candidate in near:
        if candidate.page_id not in seen:
            places.setdefault(candidate.page_id, "neighbour")
    rest = [c for c in unseen[settings.pool :] if c.page_id not in places]
    if rest and settings.exploration:
        generator = np.random.default_rng([seed & 0xFFFF_FFFF_FFFF_FFFF, round_number, _EXPLORING])
        weights = np.array([c.prior if settings.use_schema else 0.5 for c in rest]) + 1e-6
        count = min(settings.exploration, len(rest))
        for index in sorted(generator.choice(len(rest), count, replace=False, p=weights / weights.sum())):
            places[rest[index].page_id] = "exploration"
    if settings.carried_slots:
        for page_id in useful[: settings.carried]:
            places[page_id] = "carried"
    return places


def score_pool(
    places: Mapping[UUID, str],
    pages: Mapping[UUID, PageCandidate],
    similarity: Mapping[UUID, float],
    schema: SchemaMemory,
    belief: BeliefMemory,
    seen: frozenset[UUID],
    settings: LoopSettings,
    seed: int,
    round_number: int,
) -> Pool:
    """score = (1 - lambda) * similarity + lambda * theta for each page of the pool, best first; one draw a page and round."""
    ordered = schema.stable_order(places)
    if settings.selection is Selection.THOMPSON and settings.use_belief:
        theta = belief.draw(seed, round_number, ordered)
    else:
        theta = {page_id: belief.mean(page_id) for page_id in ordered}
    weight = settings.weight(round_number)
    records = []
    for page_id in ordered:
        near, state = similarity.get(page_id, 0.0), belief.pages[page_id]
        records.append(
            CandidateRecord(
                page_id=page_id,
                number=state.schema.number,
                similarity=near,
                draw=theta[page_id],
                score=(1.0 - weight) * near + weight * theta[page_id],
                alpha=state.alpha,
                beta=state.beta,
                place=places[page_id],
                seen=page_id in seen,
            )
        )
    records.sort(key=lambda r: -r.score)  # stable: equal scores keep page order
    return Pool(tuple(records), {page_id: pages[page_id] for page_id in ordered})
