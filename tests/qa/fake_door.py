"""A small library in memory behind the evidence door's contract: word overlap for similarity, and everything it was asked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from uuid import UUID, uuid5

from ingestion.domain.evidence import PageCandidate, PageView, Pin, Scope
from ingestion.domain.pages import Block, TextSource, Word
from ingestion.domain.ranking import min_max
from qa.english.words import content_keys, tokens

SPACE = UUID("7e3c5f0e-1111-4222-8333-444455556666")


def page_id(document: int, number: int) -> UUID:
    return uuid5(SPACE, f"page {document}/{number}")


def build_id(document: int) -> UUID:
    return uuid5(SPACE, f"build {document}")


def words_of(text: str) -> tuple[Word, ...]:
    """One word box a word, one line a line of the text."""
    words = []
    for match in re.finditer(r"\S+", text):
        line = text[: match.start()].count("\n")
        column = match.start() - (text.rfind("\n", 0, match.start()) + 1)
        box = (0.01 * column, 0.02 * line, 0.01 * (column + len(match.group())), 0.02 * line + 0.015)
        words.append(Word(match.start(), match.end(), line, box))
    return tuple(words)


def view(
    text: str, number: int = 1, document: int = 1, *, blocks: Sequence[Block] = (), title: str = "Handbook",
    role: str = "body", section: str = "",
) -> PageView:  # fmt: skip
    return PageView(
        page_id=page_id(document, number), document_id=uuid5(SPACE, f"document {document}"),
        version_id=uuid5(SPACE, f"version {document}"), build_id=build_id(document), document_title=title,
        external_id=f"{title}.pdf", number=number, label=str(number), text=text, words=words_of(text), blocks=tuple(blocks),
        source=TextSource.LAYER if text.strip() else TextSource.NONE, role=role, section=section,
    )  # fmt: skip


class FakeDoor:
    """`hidden` pages are not visible: no method ever tells of them."""

    def __init__(
        self, views: Sequence[PageView], *, hidden: Sequence[UUID] = (), priors: Mapping[UUID, float] | None = None,
        similarity: Mapping[UUID, float] | None = None,
    ) -> None:  # fmt: skip
        self._views = {v.page_id: v for v in views if v.page_id not in hidden}
        self._priors = priors or {}
        self._fixed = similarity
        self._last: dict[UUID, float] = {}
        self.queries: list[str] = []

    def scope(self) -> Scope:
        pins = {v.build_id: Pin(v.document_id, v.version_id, v.build_id, v.external_id, v.document_title, 1) for v in self._views.values()}
        unreadable = sum(v.source is TextSource.NONE for v in self._views.values())
        return Scope(None, tuple(pins.values()), len(self._views), unreadable)

    def search(self, query: str, limit: int) -> Sequence[PageCandidate]:
        self.queries.append(query)
        wanted = set(content_keys(query))
        raw = {p: float(len(wanted & set(content_keys(v.text)))) for p, v in self._views.items()}
        self._last = dict(self._fixed) if self._fixed is not None else min_max(raw)
        ordered = sorted(self._views, key=lambda p: (-self._last.get(p, 0.0), self._views[p].number))
        return [self._candidate(p) for p in ordered[:limit]]

    def candidates(self, page_ids: Sequence[UUID]) -> Sequence[PageCandidate]:
        return [self._candidate(p) for p in page_ids if p in self._views]

    def neighbours(self, page_id: UUID, radius: int) -> Sequence[UUID]:
        if page_id not in self._views:
            return []
        own = self._views[page_id]
        near = [
            v for v in self._views.values()
            if v.build_id == own.build_id and 0 < abs(v.number - own.number) <= radius
        ]  # fmt: skip
        return [v.page_id for v in sorted(near, key=lambda v: (abs(v.number - own.number), v.number))]

    def pages(self, page_ids: Sequence[UUID]) -> Sequence[PageView]:
        return [self._views[p] for p in page_ids if p in self._views]

    def images(self, page_ids: Sequence[UUID]) -> Mapping[UUID, bytes]:
        return {p: b"\xff\xd8\xff" + str(self._views[p].number).encode() for p in page_ids if p in self._views}

    def term_pages(self, query: str) -> Mapping[str, int]:
        own = [{t.text.lower() for t in tokens(v.text)} for v in self._views.values()]
        return {word: sum(word in words for words in own) for word in {t.text.lower() for t in tokens(query)}}

    def _candidate(self, page_id: UUID) -> PageCandidate:
        v = self._views[page_id]
        return PageCandidate(
            page_id=page_id, document_id=v.document_id, number=v.number, label=v.label,
            similarity=self._last.get(page_id, 0.0), role=v.role, section=v.section,
            prior=self._priors.get(page_id, 0.5), gist=" ".join(v.text.split())[:300],
        )  # fmt: skip
