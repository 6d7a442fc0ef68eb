"""The evidence door of a run that looks at a moment of the past for an auditor. That he still is one is asked at every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from ingestion.domain.evidence import Asker, PageCandidate, PageView, Scope
from ingestion.domain.pages import Box
from ingestion.models import User
from ingestion.seams.page_embedder import PageEmbedder
from ingestion.selectors import as_of


class AsOfDoor:
    """`qa.loop.ports.EvidenceDoor` for an auditor, the person through whose eyes he looks, and the moment."""

    def __init__(
        self, auditor: User, person: User, at: datetime, corpus_slug: str, document_id: UUID | None, embedder: PageEmbedder
    ) -> None:
        self._auditor_id, self._person, self._at = auditor.id, person, at
        self._corpus_slug, self._document_id = corpus_slug, document_id
        self._embedder = embedder
        self._kept: as_of.Past | None = None
        self._similarity: dict[UUID, float] = {}

    def asker(self) -> Asker:
        """The person, with the tags that he carried then. Raises `NotAnAuditor` when who looks is none any more."""
        auditor = User.objects.get(id=self._auditor_id)
        moment = as_of.moment_for(auditor, self._person, self._at)
        if self._kept is None:
            self._kept = as_of.as_of_past(moment, self._corpus_slug, self._document_id)
        return Asker(self._person.id, moment.organisation_id, self._person.username, moment.tags)

    def past(self) -> as_of.Past:
        self.asker()
        assert self._kept is not None
        return self._kept

    def scope(self) -> Scope:
        return self.past().scope

    def search(self, query: str, limit: int) -> Sequence[PageCandidate]:
        found = as_of.as_of_search(self.past(), query, self._embedder, max(limit, 1))
        self._similarity.update({candidate.page_id: candidate.similarity for candidate in found})
        return found[:limit]

    def candidates(self, page_ids: Sequence[UUID]) -> Sequence[PageCandidate]:
        return as_of.as_of_candidates(self.past(), page_ids, self._similarity)

    def neighbours(self, page_id: UUID, radius: int) -> Sequence[UUID]:
        return as_of.as_of_neighbours(self.past(), page_id, radius)

    def pages(self, page_ids: Sequence[UUID]) -> Sequence[PageView]:
        return as_of.as_of_pages(self.past(), page_ids)

    def images(self, page_ids: Sequence[UUID]) -> Mapping[UUID, bytes]:
        return as_of.as_of_images(self.past(), page_ids)

    def term_pages(self, query: str) -> Mapping[str, int]:
        return as_of.as_of_term_pages(self.past(), query)

    def crop(self, page_id: UUID, box: Box) -> bytes | None:
        return as_of.as_of_crop(self.past(), page_id, box)
