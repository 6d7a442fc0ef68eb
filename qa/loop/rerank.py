"""Putting a pool in reading order. Whoever does it returns an order of the pool and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

from ingestion.domain.cleaning import without_tokens
from ingestion.domain.evidence import PageCandidate
from ingestion.seams.language_model import LanguageModel, ModelFailure, ModelRequest, TextPart
from qa.loop.prompts import prompt
from qa.memory.episodic import EpisodicBrief
from qa.memory.trail import CandidateRecord, no_entries


@dataclass(frozen=True, slots=True)
class RerankRequest:
    """`near` maps pages of the pool to how many pages away the nearest useful page is."""

    question: str
    query: str
    candidates: tuple[CandidateRecord, ...]
    pages: Mapping[UUID, PageCandidate]
    near: Mapping[UUID, int] = field(default_factory=no_entries)
    brief: EpisodicBrief = EpisodicBrief()
    sections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RerankResult:
    order: tuple[UUID, ...]
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    flags: tuple[str, ...] = ()
    response: Mapping[str, Any] = field(default_factory=no_entries)


class Reranker(Protocol):
    @property
    def versions(self) -> Mapping[str, str]: ...

    def rerank(self, request: RerankRequest) -> RerankResult: ...


def completed(order: Iterable[UUID], pool: Sequence[UUID]) -> tuple[UUID, ...]:
    """`order` without strangers and repetitions, then the pages of the pool that it left out, in the pool's own order."""
    members = set(pool)
    return tuple(dict.fromkeys((*(p for p in order if p in members), *pool)))


class ScoreReranker:
    """On a CPU: by score, with a little more for pages beside a useful one (evidence sits in runs of pages). Deterministic."""

    def __init__(self, near_useful: float = 0.1) -> None:
        self._near_useful = near_useful

    @property
    def versions(self) -> Mapping[str, str]:
        return {"reranker": f"score/1 near_useful={self._near_useful:g}"}

    def rerank(self, request: RerankRequest) -> RerankResult:
        def value(candidate: CandidateRecord) -> float:
            gap = request.near.get(candidate.page_id)
            return candidate.score + (self._near_useful / gap if gap and not candidate.seen else 0.0)

        ordered = sorted(request.candidates, key=lambda c: -value(c))
        return RerankResult(tuple(c.page_id for c in ordered))


class ModelReranker:
    """A language model orders the pool from extracts, sections, beliefs and notes. When it fails, the order by score stands."""

    def __init__(self, model: LanguageModel, fallback: Reranker, extract_characters: int = 300) -> None:
        self._model = model
        self._fallback = fallback
        self._extract_characters = extract_characters
        self._prompt = prompt("rerank")

    @property
    def versions(self) -> Mapping[str, str]:
        return {**self._fallback.versions, "rerank_prompt": self._prompt.version}

    def rerank(self, request: RerankRequest) -> RerankResult:
        labels = {f"P{index}": c for index, c in enumerate(_by_page(request.candidates), start=1)}
        schema = {
            "type": "object",
            "properties": {"pages": {"type": "array", "items": {"type": "string", "enum": list(labels)}, "minItems": 1}},
            "required": ["pages"],
            "additionalProperties": False,
        }
        data = TextPart(without_tokens(json.dumps(self._data(request, labels), ensure_ascii=False)))
        pool = [c.page_id for c in request.candidates]
        try:
            reply = self._model.complete(ModelRequest(self._prompt.text, [data], "page_order", schema, max_tokens=1024))
        except ModelFailure as failure:
            usual = self._fallback.rerank(request)
            return RerankResult(usual.order, calls=1, flags=(f"rerank_failed:{failure.code}",))
        named = [label for label in reply.content["pages"] if isinstance(label, str)]
        strangers = tuple(f"rerank_unknown_page:{label[:12]}" for label in named if label not in labels)
        order = completed((labels[label].page_id for label in named if label in labels), pool)
        response = {"order": [str(p) for p in order], "model": reply.model}
        return RerankResult(order, 1, reply.input_tokens, reply.output_tokens, strangers, response)

    def _data(self, request: RerankRequest, labels: Mapping[str, CandidateRecord]) -> dict[str, Any]:
        pages = []
        for label, candidate in labels.items():
            page = request.pages[candidate.page_id]
            pages.append(
                {
                    "id": label,
                    "page": page.number,
                    "role": page.role,
                    "section": page.section,
                    "captions": list(page.captions)[:8],
                    "extract": page.gist[: self._extract_characters],
                    "similarity": round(candidate.similarity, 3),
                    "belief": round(candidate.alpha / (candidate.alpha + candidate.beta), 3),
                    "read_before": candidate.seen,
                }
            )
        brief = {"found": [f.text for f in request.brief.findings], "missing": list(request.brief.missing)}
        notes = {"sections": list(request.sections), "notes": brief, "pages": pages}
        return {**notes, "query": request.query, "question": request.question}


def _by_page(candidates: Sequence[CandidateRecord]) -> list[CandidateRecord]:
    return sorted(candidates, key=lambda c: (c.number, str(c.page_id)))
