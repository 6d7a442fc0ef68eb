"""What a caller decides about a run: the loop's numbers, its ablation switches, and the question as it is searched for."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from ingestion.domain.cleaning import clean_line
from ingestion.domain.questions import search_text
from qa.loop.budget import Budget
from qa.memory.belief import BeliefSettings

MAX_QUERY_CHARACTERS = 400
MAX_PAGES_PER_ROUND = 10


class Selection(StrEnum):
    """Where theta comes from. Three switches, not two: drawing nothing and using no belief are different things."""

    THOMPSON = "thompson"  # a draw from the posterior
    POSTERIOR_MEAN = "posterior_mean"  # greedy: the mean instead of a draw
    SIMILARITY = "similarity"  # theta has no weight; beliefs still carry pages and gather neighbours


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """Our defaults. Three rounds and five crops are the paper's; every other value of the paper is unknown (ADR 0004).

    `weights` is lambda by round: score = (1 - lambda) * similarity + lambda * theta. `refined_shares` by round: how much the
    refined query's similarity counts beside the question's own. `near_useful` is what the rerank on a CPU gives a page beside a
    useful one. The defaults are for a reader without a model; `for_model` has those for one that writes its queries well.
    """

    rounds: int = 3
    pool: int = 30
    search_limit: int = 200
    pages_per_round: int = 5
    carried: int = 3
    exploration: int = 3
    weights: tuple[float, ...] = (0.02, 0.04, 0.06)
    refined_shares: tuple[float, ...] = (0.0, 0.2, 0.0)
    near_useful: float = 0.02
    similarity_floor: float = 0.0
    brief_characters: int = 6000
    max_crops: int = 5
    selection: Selection = Selection.THOMPSON
    use_schema: bool = True
    use_belief: bool = True
    use_episodic: bool = True
    use_crops: bool = True
    belief: BeliefSettings = BeliefSettings()
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        if not 1 <= self.rounds <= 3:
            raise ValueError("a run has one to three rounds")
        if not 1 <= self.pages_per_round <= MAX_PAGES_PER_ROUND:
            raise ValueError(f"a round shows one to {MAX_PAGES_PER_ROUND} pages")
        for values in (self.weights, self.refined_shares):
            if not values or not all(0.0 <= value <= 1.0 for value in values):
                raise ValueError("weights and shares lie in [0, 1]")
        if self.pool < self.pages_per_round or self.search_limit < self.pool:
            raise ValueError("search_limit >= pool >= pages_per_round")

    def weight(self, round_number: int) -> float:
        """lambda of a round (1-based); the last one holds for later rounds, and 0 where belief has no say."""
        if not self.use_belief or self.selection is Selection.SIMILARITY:
            return 0.0
        return self.weights[min(round_number, len(self.weights)) - 1]

    def refined_share(self, round_number: int) -> float:
        """How much the refined query counts in a round (1-based); the last value holds for later rounds."""
        return self.refined_shares[min(round_number, len(self.refined_shares)) - 1]

    @property
    def carried_slots(self) -> int:
        """How many useful pages may be shown again; pages never seen keep most of a round's places."""
        return min(self.carried, (self.pages_per_round - 1) // 2) if self.use_belief else 0

    @classmethod
    def for_model(cls) -> LoopSettings:
        """Defaults for a reader over a language model: more pages a round, refined queries trusted. Not measured yet."""
        return cls(pages_per_round=8, weights=(0.05, 0.15, 0.25), refined_shares=(0.0, 0.4, 0.4))

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class QuestionText:
    """The asker's own words, and what of them is worth searching for."""

    text: str

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError("a question has words")

    @property
    def search(self) -> str:
        return bounded_query(search_text(self.text))


def bounded_query(query: str) -> str:
    """The query on one clean line, at most `MAX_QUERY_CHARACTERS` characters, cut between words."""
    line = clean_line(query.replace("\x00", " "), 4 * MAX_QUERY_CHARACTERS)
    return line if len(line) <= MAX_QUERY_CHARACTERS else line[:MAX_QUERY_CHARACTERS].rsplit(" ", 1)[0]
