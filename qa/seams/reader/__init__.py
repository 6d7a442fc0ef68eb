"""Who reads pages: gets a question and a few pages, says what they hold, page by page, or what is still missing.

A reader that gives no usable result raises `ReaderFailure`. A failure never votes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from ingestion.domain.evidence import PageView
from ingestion.domain.pages import Box
from qa.memory.episodic import EpisodicBrief, Finding
from qa.memory.trail import DraftClaim, no_entries


class ReaderFailure(Exception):
    """The reader gave no usable result. `code` is for programs: model_unavailable, reply_malformed, ..."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code


class ReadStatus(StrEnum):
    ANSWER = "answer"
    NEED_MORE = "need_more"
    NOT_ANSWERABLE = "not_answerable"


class Vote(StrEnum):
    USEFUL = "useful"
    IRRELEVANT = "irrelevant"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class PageVote:
    page_id: UUID
    vote: Vote


@dataclass(frozen=True, slots=True)
class CropRequest:
    """A reader wants a closer look at the tables or figures of a page it was shown. `kind` is table or figure."""

    page_id: UUID
    kind: str = "table"


@dataclass(frozen=True, slots=True)
class Crop:
    """A part of a page, drawn anew (JPEG). `box` in fractions of the displayed page."""

    page_id: UUID
    box: Box
    image: bytes
    label: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Pages of one round. `question` is the asker's own and the one to answer; `query` is what this round searched for.

    `term_pages` counts, for the forms in the reader's `vocabulary`, on how many of the asker's visible pages each stands; with
    `visible_pages` and `unreadable_pages` it is all that a reader may know of pages it was not shown.
    """

    question: str
    query: str
    pages: tuple[PageView, ...]
    round: int = 1
    last_round: bool = False
    brief: EpisodicBrief = EpisodicBrief()
    images: Mapping[UUID, bytes] = field(default_factory=no_entries)
    crops: tuple[Crop, ...] = ()
    visible_pages: int = 0
    unreadable_pages: int = 0
    term_pages: Mapping[str, int] = field(default_factory=no_entries)


@dataclass(frozen=True, slots=True)
class ReadResult:
    """`claims` only with status ANSWER. `absent_terms` (only with NOT_ANSWERABLE): word of the question -> forms -> visible pages.

    `flags` name what of the output was dropped and why. `response` is a summary of the raw output, for the trail.
    """

    status: ReadStatus
    answer: str = ""
    claims: tuple[DraftClaim, ...] = ()
    votes: tuple[PageVote, ...] = ()
    findings: tuple[Finding, ...] = ()
    missing: tuple[str, ...] = ()
    refined_query: str = ""
    crop_requests: tuple[CropRequest, ...] = ()
    confidence: float = 0.0
    absent_terms: Mapping[str, Mapping[str, int]] = field(default_factory=no_entries)
    usage: Usage = Usage()
    flags: tuple[str, ...] = ()
    response: Mapping[str, Any] = field(default_factory=no_entries)


class Reader(Protocol):
    @property
    def versions(self) -> Mapping[str, str]:
        """What must be pinned to repeat a reading: reader, model, prompt."""

    @property
    def looks_at_pictures(self) -> bool:
        """Whether `images` and `crops` are worth fetching."""

    @property
    def verbatim(self) -> bool:
        """Whether every claim's text is its first quote and nothing else."""

    def vocabulary(self, question: str) -> str:
        """Words and spellings whose page counts the reader wants in `term_pages`; empty for none."""

    def read(self, request: ReadRequest) -> ReadResult:
        """Raises `ReaderFailure`."""
