"""What a question may see of the index, as types. `ingestion/selectors/evidence.py` is the one door that makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from ingestion.domain.access import Tags
from ingestion.domain.pages import Block, TextSource, Word


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, with the tags (own principal and all groups, nested) that he carries at this moment."""

    user_id: UUID
    organisation_id: UUID
    username: str
    tags: Tags


@dataclass(frozen=True, slots=True)
class Pin:
    """The build of a document that a run saw first; every later step of the run reads this build and no other."""

    document_id: UUID
    version_id: UUID
    build_id: UUID
    external_id: str
    title: str
    version_number: int


@dataclass(frozen=True, slots=True)
class Scope:
    """What a run may look at: the pins, and counts over the asker's VISIBLE pages only."""

    corpus_id: UUID | None
    pins: tuple[Pin, ...]
    visible_pages: int
    unreadable_pages: int  # visible pages that show something, but gave no text
    epoch: int = 0  # of the corpus, in the same snapshot; 0 where the asker sees nothing

    @property
    def build_ids(self) -> tuple[UUID, ...]:
        return tuple(pin.build_id for pin in self.pins)


@dataclass(frozen=True, slots=True)
class PageCandidate:
    """A visible page with its similarity to the query in [0, 1] (min-max normalised over the search), and what it rests on.

    `signals` holds the parts (lexical, heading, dense, named_page, named_caption) before normalisation. `role`, `section`,
    `prior` (in [0, 1]) and `captions` are the page's schema facts. `gist` is a short extract of the page's own text.
    """

    page_id: UUID
    document_id: UUID
    number: int
    label: str
    similarity: float
    signals: Mapping[str, float] = field(default_factory=dict)
    role: str = "body"
    section: str = ""
    prior: float = 0.5
    captions: tuple[str, ...] = ()
    gist: str = ""


@dataclass(frozen=True, slots=True)
class PageView:
    """A page, fetched for reading after its access was checked again."""

    page_id: UUID
    document_id: UUID
    version_id: UUID
    build_id: UUID
    document_title: str
    external_id: str
    number: int
    label: str
    text: str
    words: tuple[Word, ...]
    blocks: tuple[Block, ...]
    source: TextSource
    role: str = "body"
    section: str = ""
