"""Page-level evidence metrics.

recall@k = |gold ∩ top k| / |gold|; all-hit@k = 1 if gold is within the top k. Means over questions that HAVE gold pages: a question
without gold counts nowhere (counting it as 1, as others do, flatters).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

Item = TypeVar("Item")

CUTOFFS = (1, 3, 5, 10)


def recall(gold: frozenset, found: Iterable) -> float:
    """Share of the gold that was found. Raises `ZeroDivisionError` without gold: leave such questions out."""
    return len(gold & set(found)) / len(gold)


def all_hit(gold: frozenset, found: Iterable) -> float:
    return float(gold <= set(found))


def mean(values: Sequence[float]) -> float | None:
    """The mean, rounded to 4 places; None of nothing."""
    return round(sum(values) / len(values), 4) if values else None


def ranking_metrics(ranked: Sequence[tuple[frozenset, Sequence]]) -> dict[str, float | int | None]:
    """recall@k and all_hit@k over (gold, ranking) pairs."""
    metrics: dict[str, float | int | None] = {"n": len(ranked)}
    for k in CUTOFFS:
        metrics[f"recall@{k}"] = mean([recall(gold, ranking[:k]) for gold, ranking in ranked])
    for k in CUTOFFS:
        metrics[f"all_hit@{k}"] = mean([all_hit(gold, ranking[:k]) for gold, ranking in ranked])
    return metrics


def grouped(items: Iterable[Item], keys: Callable[[Item], Iterable[str]]) -> Mapping[str, list[Item]]:
    """Items under each of their keys, keys in order."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        for key in keys(item):
            groups.setdefault(key, []).append(item)
    return dict(sorted(groups.items()))
