"""What the loop needs from outside, as contracts; the services bind them to the asker, so the loop cannot widen them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol
from uuid import UUID

import numpy as np

from ingestion.domain.evidence import PageCandidate, PageView, Scope


class EvidenceDoor(Protocol):
    """Bound to one asker and one run. Each call is one REPEATABLE READ transaction, filtered by access in the query."""

    def scope(self) -> Scope:
        """The run's pins, made at the first call and the same ever after."""

    def search(self, query: str, limit: int) -> Sequence[PageCandidate]:
        """Visible pages of the pinned builds, best first, at most `limit`; within one document all of its pages may be asked for."""

    def candidates(self, page_ids: Sequence[UUID]) -> Sequence[PageCandidate]:
        """Schema facts of these pages, with the similarity of the last search; pages that are not visible are left out."""

    def neighbours(self, page_id: UUID, radius: int) -> Sequence[UUID]:
        """Visible pages of the same build at most `radius` physical pages away, nearest first, without the page itself."""

    def pages(self, page_ids: Sequence[UUID]) -> Sequence[PageView]:
        """Pages for reading, in the order asked; pages that are not visible (any more) are left out."""

    def images(self, page_ids: Sequence[UUID]) -> Mapping[UUID, bytes]:
        """Pictures of the pages (JPEG) that are visible and drawn."""

    def term_pages(self, query: str) -> Mapping[str, int]:
        """For each content word (lexeme) of the query, on how many visible pages of the scope it stands."""


class TextPages(Protocol):
    """Bound to one asker and one run, like the door. Slower than `term_pages`: it looks at texts, not at postings."""

    def __call__(self, terms: Sequence[str]) -> Mapping[str, int]:
        """For each term, on how many visible pages of the scope it stands, also inside longer words: letters and digits are
        compared, without case and without what stands between them."""


class TextEmbedder(Protocol):
    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        """(n, d) unit vectors, float32."""
