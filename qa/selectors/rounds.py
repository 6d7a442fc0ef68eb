"""Reading a stored round: which pages it showed, what was made of them, and whose text its texts may hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from ingestion.models import Page
from qa.models import Round


@dataclass(frozen=True, slots=True)
class PagePlace:
    """Where a page stands; the caller has made sure that the person may know of it."""

    page_id: UUID
    document_id: UUID
    title: str
    number: int
    label: str
    version: int

    @property
    def printed(self) -> str:
        """The printed label where it differs from the physical number."""
        return self.label if self.label and self.label != str(self.number) else ""


def page_ids_of(values: Iterable[Any]) -> tuple[UUID, ...]:
    """The ids among the values; what is no id is left out."""
    found = []
    for value in values:
        try:
            found.append(UUID(str(value)))
        except ValueError:
            continue
    return tuple(found)


def shown_in(item: Round) -> tuple[UUID, ...]:
    """Pages that the reader saw in this round."""
    return page_ids_of(item.record.get("shown") or ())


def verdicts_in(item: Round) -> dict[UUID, str]:
    """Page -> useful, irrelevant or unsure."""
    candidates: list[Mapping[str, Any]] = item.record.get("candidates") or []
    found: dict[UUID, str] = {}
    for candidate in candidates:
        for page_id in page_ids_of([candidate.get("page_id")]):
            if candidate.get("verdict"):
                found[page_id] = str(candidate["verdict"])
    return found


def page_places(page_ids: Iterable[UUID]) -> dict[UUID, PagePlace]:
    """Places of pages that are still held."""
    pages = Page.objects.filter(id__in=list(page_ids)).select_related("document", "build__version")
    return {
        page.id: PagePlace(
            page.id, page.document_id, str(page.document), page.number, page.label, page.build.version.number
        )
        for page in pages
    }
