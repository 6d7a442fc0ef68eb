"""The evidence door of one run: bound to its asker and its pins, so that the loop can ask for nothing else.

The asker's tags are read anew at every step: a right that was taken away takes effect at the next step, not at the next question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from ingestion.domain.evidence import Asker, PageCandidate, PageView, Scope
from ingestion.domain.pages import Box
from ingestion.models import User
from ingestion.seams.page_embedder import PageEmbedder
from ingestion.selectors import evidence, search
from ingestion.selectors.visibility import asker_for


class RunDoor:
    """`qa.loop.ports.EvidenceDoor` for one person, one corpus (or one document in it) and one run."""

    def __init__(self, user: User, corpus_slug: str, document_id: UUID | None, embedder: PageEmbedder) -> None:
        self._user = user
        self._corpus_slug = corpus_slug
        self._document_id = document_id
        self._embedder = embedder
        self._scope: Scope | None = None
        self._similarity: dict[UUID, float] = {}

    def asker(self) -> Asker:
        """The asker with the tags that he carries now."""
        people = User.objects.using(evidence.ALIAS).only("id", "username", "organisation_id")  # all that the reader may read
        return asker_for(people.get(id=self._user.id), evidence.ALIAS)

    def scope(self) -> Scope:
        if self._scope is None:
            self._scope = evidence.evidence_scope(self.asker(), self._corpus_slug, self._document_id)
        return self._scope

    def search(self, query: str, limit: int) -> Sequence[PageCandidate]:
        found = search.evidence_search(self.asker(), self.scope(), query, self._embedder, max(limit, 1))
        self._similarity.update({candidate.page_id: candidate.similarity for candidate in found})
        return found[:limit]

    def candidates(self, page_ids: Sequence[UUID]) -> Sequence[PageCandidate]:
        return search.evidence_candidates(self.asker(), self.scope(), page_ids, self._similarity)

    def neighbours(self, page_id: UUID, radius: int) -> Sequence[UUID]:
        return search.evidence_neighbours(self.asker(), self.scope(), page_id, radius)

    def pages(self, page_ids: Sequence[UUID]) -> Sequence[PageView]:
        return evidence.evidence_pages(self.asker(), self.scope(), page_ids)

    def images(self, page_ids: Sequence[UUID]) -> Mapping[UUID, bytes]:
        return evidence.evidence_images(self.asker(), self.scope(), page_ids)

    def term_pages(self, query: str) -> Mapping[str, int]:
        return evidence.evidence_term_pages(self.asker(), self.scope(), query)

    def crop(self, page_id: UUID, box: Box) -> bytes | None:
        """A part of a visible page of the scope, drawn anew; None when it cannot be drawn."""
        return evidence.evidence_crop(self.asker(), self.scope(), page_id, box)
