"""Turning pages and questions into vectors of one embedding space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np


@dataclass(frozen=True, slots=True)
class Space:
    """An embedding space: vectors of different spaces are never compared. `fingerprint` pins weights and settings."""

    name: str
    dimensions: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class PageInput:
    """What an embedder may look at: the page's passages (text) and its picture, if it was drawn."""

    number: int
    passages: tuple[str, ...]
    image: Path | None = None


@dataclass(frozen=True, slots=True)
class PageEmbedding:
    """Unit vectors, float32. `passages` is (n passages, d) or None; `pooled` is (d,) or None for a page with nothing to embed;
    `multi` is (n tokens, d) or None where the embedder has no late interaction."""

    number: int
    passages: np.ndarray | None
    pooled: np.ndarray | None
    multi: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class QueryEmbedding:
    pooled: np.ndarray
    multi: np.ndarray | None = None


class PageEmbedder(Protocol):
    @property
    def space(self) -> Space: ...

    @property
    def passage_words(self) -> int:
        """How many words a passage may have so that the model does not cut it."""

    def embed_pages(self, pages: Sequence[PageInput]) -> list[PageEmbedding]:
        """One result for each page, in order. Raises `Transient("embedder_failed")` when the model does not answer as it must."""

    def embed_query(self, question: str) -> QueryEmbedding: ...

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        """(n, d) unit vectors of short texts, float32, in the same space as passages."""
