"""Fusing what lexical search, headings, vectors and named places say of a page into one similarity.

The weights are ours, measured on a set of long documents with the document known; they are few and coarse on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

Key = TypeVar("Key")

SIGNALS = ("lexical", "heading", "dense", "named_page", "named_caption", "first_page")


@dataclass(frozen=True, slots=True)
class Weights:
    """Of the lexical side (lexical + headings + named places, normalised together), of the dense side, of being page one."""

    heading: float = 0.4
    named_page: float = 1.0
    named_caption: float = 0.5
    lexical_side: float = 1.0
    dense_side: float = 1.2
    first_page: float = 0.1


def min_max(values: Mapping[Key, float]) -> dict[Key, float]:
    """Values scaled to [0, 1]; 0.5 everywhere when all are equal, as the loop's normalisation asks."""
    if not values:
        return {}
    low, high = min(values.values()), max(values.values())
    if high - low < 1e-12:
        return dict.fromkeys(values, 0.5)
    return {key: (value - low) / (high - low) for key, value in values.items()}


def fuse(signals: Mapping[Key, Mapping[str, float]], weights: Weights = Weights()) -> dict[Key, float]:
    """One similarity in [0, 1] for each page. BM25 parts are scaled by the best lexical score, so that weights mean the same everywhere."""
    best = max((s.get("lexical", 0.0) for s in signals.values()), default=0.0) or 1.0
    best_heading = max((s.get("heading", 0.0) for s in signals.values()), default=0.0) or 1.0
    lexical = {
        key: s.get("lexical", 0.0) / best
        + weights.heading * s.get("heading", 0.0) / best_heading
        + weights.named_page * s.get("named_page", 0.0)
        + weights.named_caption * s.get("named_caption", 0.0)
        for key, s in signals.items()
    }
    dense = {key: s["dense"] for key, s in signals.items() if "dense" in s}
    lexical, dense = min_max(lexical), min_max(dense)
    return min_max(
        {
            key: weights.lexical_side * lexical[key]
            + weights.dense_side * dense.get(key, 0.0)
            + weights.first_page * s.get("first_page", 0.0)
            for key, s in signals.items()
        }
    )
