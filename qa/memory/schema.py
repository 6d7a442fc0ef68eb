"""Document Schema Memory: what is known of pages before any question, composed for one asker from pages that he may see.

A page's structural prior pi in [0, 1] comes with its candidate: the pipeline stored it by the page's role. Nothing here is a
summary of a whole document, so nothing can speak of a page that stays hidden.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from uuid import UUID

from ingestion.domain.evidence import PageCandidate

NEUTRAL_PRIOR = 0.5
# A prior never excludes a page and never settles it: people do ask about covers, contents and lists of references.
LOWEST_PRIOR, HIGHEST_PRIOR = 0.05, 0.95


@dataclass(frozen=True, slots=True)
class PageSchema:
    """One visible page's place in its document. `number` is physical, 1-based; `prior` is pi."""

    page_id: UUID
    document_id: UUID
    number: int
    label: str = ""
    role: str = "body"
    section: str = ""
    prior: float = NEUTRAL_PRIOR
    captions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SchemaMemory:
    """Visible pages by id. It only grows, by candidates that the evidence door gave to this asker."""

    pages: Mapping[UUID, PageSchema] = field(default_factory=lambda: MappingProxyType({}))
    use_priors: bool = True

    def with_candidates(self, candidates: Iterable[PageCandidate]) -> SchemaMemory:
        """The memory with these pages added; a page that is known already keeps what was first known of it."""
        pages = dict(self.pages)
        for candidate in candidates:
            pages.setdefault(candidate.page_id, self._schema_of(candidate))
        return SchemaMemory(MappingProxyType(pages), self.use_priors)

    def _schema_of(self, candidate: PageCandidate) -> PageSchema:
        prior = min(max(candidate.prior, LOWEST_PRIOR), HIGHEST_PRIOR) if self.use_priors else NEUTRAL_PRIOR
        return PageSchema(
            page_id=candidate.page_id,
            document_id=candidate.document_id,
            number=candidate.number,
            label=candidate.label,
            role=candidate.role if self.use_priors else "body",
            section=candidate.section if self.use_priors else "",
            prior=prior,
            captions=candidate.captions if self.use_priors else (),
        )

    def stable_order(self, page_ids: Iterable[UUID]) -> list[UUID]:
        """The known ones of these pages by document, page number, id: the order in which draws are made and logged."""
        known = [self.pages[page_id] for page_id in set(page_ids) if page_id in self.pages]
        return [page.page_id for page in sorted(known, key=lambda p: (p.document_id, p.number, p.page_id))]

    def sections(self, limit: int = 40) -> tuple[str, ...]:
        """Section paths of the known pages, in page order, each once, at most `limit`."""
        ordered = sorted(self.pages.values(), key=lambda p: (p.document_id, p.number))
        return tuple(dict.fromkeys(page.section for page in ordered if page.section))[:limit]
