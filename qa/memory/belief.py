"""Page Belief Memory: one Beta posterior a page, moved by votes on pages that were really shown.

    alpha0 = 1 + kappa * pi        beta0 = 1 + kappa * (1 - pi)        pi: the page's structural prior
    useful vote:      alpha += 1       and to neighbours: alpha += gamma ** distance, the greatest of several, not their sum
    irrelevant vote:  beta  += 1       and to nobody else

alpha / (alpha + beta) is accumulated relevance confidence. It is not the probability that the page holds the answer.
The memory is immutable; its log of events rebuilds it exactly: `replay(log, settings) == memory`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from uuid import UUID

import numpy as np

from qa.memory.schema import PageSchema, SchemaMemory


@dataclass(frozen=True, slots=True)
class BeliefSettings:
    """Our defaults; the paper's values for kappa, radius and decay are not known. `border` multiplies across section borders."""

    kappa: float = 2.0
    vote: float = 1.0
    radius: int = 2
    gamma: float = 0.5
    border: float = 0.5
    propagate: bool = True
    update: bool = True  # off: votes are logged and move nothing


@dataclass(frozen=True, slots=True)
class PageBelief:
    schema: PageSchema
    alpha: float
    beta: float
    useful_votes: int = 0
    irrelevant_votes: int = 0

    @property
    def mean(self) -> float:
        return self.alpha / (self.alpha + self.beta)


@dataclass(frozen=True, slots=True)
class Admitted:
    """Pages became known; each starts with its prior."""

    pages: tuple[PageSchema, ...]


@dataclass(frozen=True, slots=True)
class Voted:
    """What a reader said of a round, as said: `apply` decides what of it counts.

    `quoted` are pages of which a quote was verified in this run: what stands there word for word outweighs a vote against the page,
    which may rest on another page's text.
    """

    round: int
    shown: tuple[UUID, ...]
    useful: tuple[UUID, ...]
    irrelevant: tuple[UUID, ...]
    quoted: tuple[UUID, ...] = ()


Event = Admitted | Voted


@dataclass(frozen=True, slots=True)
class DroppedVote:
    page_id: UUID
    vote: str  # useful | irrelevant | both
    reason: str  # not_shown | contradictory | repeated | round_already_voted | quoted


@dataclass(frozen=True, slots=True)
class VoteOutcome:
    """Which votes counted, how much their neighbours received (page -> alpha), and which were dropped and why."""

    useful: tuple[UUID, ...] = ()
    irrelevant: tuple[UUID, ...] = ()
    propagated: Mapping[UUID, float] = field(default_factory=lambda: MappingProxyType({}))
    dropped: tuple[DroppedVote, ...] = ()


@dataclass(frozen=True, slots=True)
class BeliefMemory:
    settings: BeliefSettings = BeliefSettings()
    pages: Mapping[UUID, PageBelief] = field(default_factory=lambda: MappingProxyType({}))
    log: tuple[Event, ...] = ()

    def admit(self, schema: SchemaMemory) -> BeliefMemory:
        """Known pages of the schema that are new here, with their priors."""
        fresh = tuple(schema.pages[page_id] for page_id in schema.stable_order(set(schema.pages) - set(self.pages)))
        return apply(self, Admitted(fresh))[0] if fresh else self

    def vote(self, event: Voted) -> tuple[BeliefMemory, VoteOutcome]:
        return apply(self, event)

    def mean(self, page_id: UUID) -> float:
        return self.pages[page_id].mean

    def useful_pages(self) -> tuple[UUID, ...]:
        """Pages with more useful than irrelevant votes, the surest first."""
        voted = [b for b in self.pages.values() if b.useful_votes > b.irrelevant_votes]
        ordered = sorted(voted, key=lambda b: (-b.mean, b.schema.document_id, b.schema.number))
        return tuple(belief.schema.page_id for belief in ordered)

    def draw(self, seed: int, round_number: int, ordered: Iterable[UUID]) -> dict[UUID, float]:
        """One Thompson draw theta ~ Beta(alpha, beta) for each page, from a generator seeded by (seed, round).

        The order decides which page gets which draw: give `SchemaMemory.stable_order`. The result keeps it.
        """
        generator = np.random.default_rng([seed & 0xFFFF_FFFF_FFFF_FFFF, round_number])
        return {page_id: float(generator.beta(self.pages[page_id].alpha, self.pages[page_id].beta)) for page_id in ordered}


def apply(memory: BeliefMemory, event: Event) -> tuple[BeliefMemory, VoteOutcome]:
    """The memory after the event, with what of it counted. An event is logged even if nothing of it counts."""
    if isinstance(event, Admitted):
        pages = dict(memory.pages)
        for schema in event.pages:
            pages.setdefault(schema.page_id, _prior_belief(schema, memory.settings))
        return _next(memory, pages, event), VoteOutcome()
    outcome = _count(memory, event)
    pages = dict(memory.pages)
    weight = memory.settings.vote if memory.settings.update else 0.0
    for page_id in outcome.useful:
        old = pages[page_id]
        pages[page_id] = replace(old, alpha=old.alpha + weight, useful_votes=old.useful_votes + 1)
    for page_id in outcome.irrelevant:
        old = pages[page_id]
        pages[page_id] = replace(old, beta=old.beta + weight, irrelevant_votes=old.irrelevant_votes + 1)
    for page_id, gain in outcome.propagated.items():
        pages[page_id] = replace(pages[page_id], alpha=pages[page_id].alpha + gain)
    return _next(memory, pages, event), outcome


def replay(log: Iterable[Event], settings: BeliefSettings = BeliefSettings()) -> BeliefMemory:
    """The memory that these events make."""
    memory = BeliefMemory(settings)
    for event in log:
        memory, _ = apply(memory, event)
    return memory


def _next(memory: BeliefMemory, pages: dict[UUID, PageBelief], event: Event) -> BeliefMemory:
    return BeliefMemory(memory.settings, MappingProxyType(pages), (*memory.log, event))


def _prior_belief(schema: PageSchema, settings: BeliefSettings) -> PageBelief:
    return PageBelief(schema, 1.0 + settings.kappa * schema.prior, 1.0 + settings.kappa * (1.0 - schema.prior))


def _count(memory: BeliefMemory, event: Voted) -> VoteOutcome:
    """At most one vote a page and round, only for pages shown in it, none where the reader contradicts itself, and none against a
    page that a verified quote speaks for."""
    claimed = {*event.useful, *event.irrelevant}
    if any(isinstance(old, Voted) and old.round == event.round for old in memory.log):
        return VoteOutcome(dropped=tuple(DroppedVote(p, _said(event, p), "round_already_voted") for p in _in_order(event)))
    quoted = set(event.quoted)
    both = set(event.useful) & set(event.irrelevant) - quoted
    votable = (set(event.shown) & set(memory.pages) & claimed) - both
    dropped = []
    for page_id in _in_order(event):
        if page_id not in event.shown or page_id not in memory.pages:
            dropped.append(DroppedVote(page_id, _said(event, page_id), "not_shown"))
        elif page_id in both:
            dropped.append(DroppedVote(page_id, "both", "contradictory"))
        elif page_id in quoted and page_id in event.irrelevant:
            dropped.append(DroppedVote(page_id, "irrelevant", "quoted"))
        elif (event.useful + event.irrelevant).count(page_id) > 1:
            dropped.append(DroppedVote(page_id, _said(event, page_id), "repeated"))  # it counts once
    useful = tuple(p for p in dict.fromkeys(event.useful) if p in votable)
    irrelevant = tuple(p for p in dict.fromkeys(event.irrelevant) if p in votable and p not in quoted)
    return VoteOutcome(useful, irrelevant, MappingProxyType(_propagation(memory, useful, irrelevant)), tuple(dropped))


def _in_order(event: Voted) -> list[UUID]:
    return list(dict.fromkeys((*event.useful, *event.irrelevant)))


def _said(event: Voted, page_id: UUID) -> str:
    if page_id in event.useful and page_id in event.irrelevant:
        return "both"
    return "useful" if page_id in event.useful else "irrelevant"


def _propagation(memory: BeliefMemory, useful: tuple[UUID, ...], irrelevant: tuple[UUID, ...]) -> dict[UUID, float]:
    """What each neighbour of a useful page receives. A page that was voted on itself, now or as irrelevant before, gets nothing."""
    settings = memory.settings
    if not (settings.propagate and settings.update):
        return {}
    gains: dict[UUID, float] = {}
    for source in (memory.pages[page_id].schema for page_id in useful):
        for page_id, belief in memory.pages.items():
            other = belief.schema
            distance = abs(other.number - source.number)
            if other.document_id != source.document_id or not 0 < distance <= settings.radius:
                continue
            if page_id in useful or page_id in irrelevant or belief.irrelevant_votes:
                continue
            gain = settings.vote * settings.gamma**distance
            if other.section != source.section:
                gain *= settings.border
            gains[page_id] = max(gains.get(page_id, 0.0), gain)
    return gains
