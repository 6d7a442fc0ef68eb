"""Question Episodic Memory: what this question has tried, read, found and still misses. It ends with its question.

What goes into the next round is `brief()`: bounded, and data. Whatever stands in it was written on pages or by a model that read
pages, so nobody may treat it as an instruction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Finding:
    """Something read, with its place: a range of the page's canonical text."""

    text: str
    page_id: UUID
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Episode:
    """One round as the question remembers it. `verdicts`: page -> useful | irrelevant | unsure, for every page shown."""

    round: int
    query: str
    verdicts: Mapping[UUID, str] = field(default_factory=lambda: MappingProxyType({}))
    findings: tuple[Finding, ...] = ()
    missing: tuple[str, ...] = ()
    refined_query: str = ""
    status: str = ""


@dataclass(frozen=True, slots=True)
class EpisodicBrief:
    """What the next round is told. `pages_read` holds (page number, verdict) of pages the asker may see."""

    findings: tuple[Finding, ...] = ()
    missing: tuple[str, ...] = ()
    pages_read: tuple[tuple[int, str], ...] = ()
    queries: tuple[str, ...] = ()

    @property
    def characters(self) -> int:
        return (
            sum(len(f.text) for f in self.findings)
            + sum(len(m) for m in self.missing)
            + sum(len(q) for q in self.queries)
            + sum(len(verdict) + 6 for _, verdict in self.pages_read)
        )


@dataclass(frozen=True, slots=True)
class EpisodicMemory:
    episodes: tuple[Episode, ...] = ()

    def with_episode(self, episode: Episode) -> EpisodicMemory:
        """Raises `ValueError` for a round that is not later than the last."""
        if self.episodes and episode.round <= self.episodes[-1].round:
            raise ValueError("episodes are told in order")
        return EpisodicMemory((*self.episodes, episode))

    @property
    def queries(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(episode.query for episode in self.episodes))

    def seen(self) -> frozenset[UUID]:
        """Every page that was shown in any round."""
        return frozenset(page_id for episode in self.episodes for page_id in episode.verdicts)

    def brief(self, numbers: Mapping[UUID, int], characters: int = 6000) -> EpisodicBrief:
        """At most about `characters` characters: the newest missing list and queries, then page verdicts; findings are kept longest.

        When all does not fit, page verdicts go first, then old queries, then what is missing, then the oldest findings. `numbers`
        maps page ids to page numbers; a page that is not in it is left out.
        """
        if not self.episodes:
            return EpisodicBrief()
        left = characters
        findings: list[Finding] = []
        unique = {(f.page_id, f.text): f for episode in self.episodes for f in episode.findings if f.page_id in numbers}
        for finding in reversed(unique.values()):
            if len(finding.text) <= left:
                findings.append(finding)
                left -= len(finding.text)
        missing, left = _fitting(self.episodes[-1].missing, left)
        queries, left = _fitting(tuple(reversed(self.queries)), left)
        read = []
        verdicts = {page_id: verdict for episode in self.episodes for page_id, verdict in episode.verdicts.items()}
        for page_id, verdict in verdicts.items():
            if page_id in numbers and len(verdict) + 6 <= left:
                read.append((numbers[page_id], verdict))
                left -= len(verdict) + 6
        return EpisodicBrief(tuple(reversed(findings)), missing, tuple(read), tuple(reversed(queries)))


def _fitting(texts: tuple[str, ...], left: int) -> tuple[tuple[str, ...], int]:
    kept = []
    for text in texts:
        if len(text) > left:
            break
        kept.append(text)
        left -= len(text)
    return tuple(kept), left
