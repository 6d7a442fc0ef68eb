"""One reading: ask the reader, and believe nothing of its result that the pages in hand do not bear out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from ingestion.domain.anchors import quote_stands_at
from ingestion.domain.cleaning import clean_line
from ingestion.domain.evidence import PageView, Scope
from ingestion.domain.pages import Box
from qa.loop.crops import CropPlan, DrawCrop, choose_crops
from qa.loop.ports import EvidenceDoor
from qa.loop.prompts import repeats_instructions
from qa.loop.settings import LoopSettings, bounded_query
from qa.memory.belief import Voted
from qa.memory.episodic import EpisodicBrief
from qa.memory.trail import DraftClaim
from qa.seams.reader import Crop, Reader, ReadRequest, ReadResult, ReadStatus, Vote

MAX_MISSING, MAX_MISSING_CHARACTERS, MAX_FINDING = 8, 300, 1000


@dataclass(frozen=True, slots=True)
class Reading:
    """A reader's result after checking; `flags` name what was dropped, `quoted` the pages of which a quote was verified."""

    result: ReadResult
    flags: tuple[str, ...] = ()
    quoted: frozenset[UUID] = frozenset()


def checked(result: ReadResult, pages: Mapping[UUID, PageView]) -> Reading:
    """The result with the citations and findings that stand on pages shown in this run; an answer without any is no answer.

    What a reader writes of its own, it writes after reading pages that may tell it what to write: it is cleaned, bounded, and left
    out where it repeats what a reader is told.
    """
    flags: list[str] = list(result.flags)
    claims, quoted = [], set()
    for claim in result.claims:
        kept = tuple(c for c in claim.citations if _stands(c.page_id, c.start, c.end, c.quote, pages, flags))
        quoted |= {c.page_id for c in kept}
        if not kept:
            flags.append("claim_without_citation")
        elif repeats_instructions(claim.text, [c.quote for c in kept]):
            flags.append("instructions_in_claim")
        else:
            claims.append(DraftClaim(claim.text, kept))
    findings = []
    for finding in result.findings:
        if finding.page_id not in pages:
            flags.append("finding_on_page_not_shown")
            continue
        findings.append(replace(finding, text=clean_line(finding.text, MAX_FINDING)))
        text = pages[finding.page_id].text
        if quote_stands_at(text, finding.start, finding.end, text[finding.start : finding.end]):
            quoted.add(finding.page_id)
    status = result.status
    if status is ReadStatus.ANSWER and not claims:
        status = ReadStatus.NEED_MORE
        flags.append("answer_without_evidence")
    claims = claims if status is ReadStatus.ANSWER else []
    own = _own_words(result, flags)
    return Reading(replace(own, status=status, claims=tuple(claims), findings=tuple(findings)), tuple(flags), frozenset(quoted))


def _own_words(result: ReadResult, flags: list[str]) -> ReadResult:
    """The result with what it says is missing, and what it would search for, as single clean lines of bounded number and length."""
    missing = [clean_line(text, MAX_MISSING_CHARACTERS) for text in result.missing[:MAX_MISSING]]
    query = bounded_query(result.refined_query)
    kept = tuple(text for text in missing if text and not repeats_instructions(text))
    if len(kept) < len(result.missing):
        flags.append("missing_cut")
    if repeats_instructions(query):
        flags.append("instructions_in_query")
        query = ""
    return replace(result, missing=kept, refined_query=query)


def _stands(page_id: UUID, start: int, end: int, quote: str, pages: Mapping[UUID, PageView], flags: list[str]) -> bool:
    if page_id not in pages:
        flags.append("citation_of_page_not_shown")
        return False
    if not quote_stands_at(pages[page_id].text, start, end, quote):
        flags.append("quote_not_on_page")
        return False
    return True


def votes_of(result: ReadResult, round_number: int, shown: Sequence[UUID], quoted: Iterable[UUID] = ()) -> Voted:
    """The reader's votes as the belief memory takes them; unsure moves nothing. `quoted`: pages with a verified quote in this run."""
    useful = tuple(v.page_id for v in result.votes if v.vote is Vote.USEFUL)
    irrelevant = tuple(v.page_id for v in result.votes if v.vote is Vote.IRRELEVANT)
    held = set(quoted)
    return Voted(round_number, tuple(shown), useful, irrelevant, tuple(p for p in shown if p in held))


def build_request(
    question: str,
    query: str,
    views: Sequence[PageView],
    round_number: int,
    brief: EpisodicBrief,
    scope: Scope,
    term_pages: Mapping[str, int],
    last_round: bool,
) -> ReadRequest:
    return ReadRequest(
        question=question,
        query=query,
        pages=tuple(views),
        round=round_number,
        last_round=last_round,
        brief=brief,
        visible_pages=scope.visible_pages,
        unreadable_pages=scope.unreadable_pages,
        term_pages=term_pages,
    )


def with_pictures(
    request: ReadRequest,
    reader: Reader,
    door: EvidenceDoor,
    settings: LoopSettings,
    draw: DrawCrop | None,
    wanted: Mapping[UUID, str],
    taken: Sequence[tuple[UUID, Box]],
) -> ReadRequest:
    """The request with page pictures and closer views, for a reader that looks at them; unchanged for any other."""
    if not reader.looks_at_pictures:
        return request
    images = door.images([view.page_id for view in request.pages])
    crops: list[Crop] = []
    if settings.use_crops and draw is not None:
        plans: Iterable[CropPlan] = choose_crops(request.question, request.pages, wanted, taken, settings.max_crops)
        for plan in plans:
            image = draw(plan.page_id, plan.box)
            if image:
                crops.append(Crop(plan.page_id, plan.box, image, plan.label))
    return replace(request, images=dict(images), crops=tuple(crops))


def request_summary(request: ReadRequest) -> dict[str, Any]:
    """What went in, so that a replay can put the same together again: pages by id and text hash, everything else in full."""
    return {
        "question": request.question,
        "query": request.query,
        "last_round": request.last_round,
        "pages": [
            {"page_id": str(v.page_id), "number": v.number, "text_sha256": hashlib.sha256(v.text.encode()).hexdigest()}
            for v in request.pages
        ],
        "images": [str(page_id) for page_id in request.images],
        "crops": [{"page_id": str(c.page_id), "box": list(c.box), "label": c.label} for c in request.crops],
        "brief": {
            "findings": [{"text": f.text, "page_id": str(f.page_id)} for f in request.brief.findings],
            "missing": list(request.brief.missing),
            "pages_read": [list(item) for item in request.brief.pages_read],
            "queries": list(request.brief.queries),
        },
        "visible_pages": request.visible_pages,
        "unreadable_pages": request.unreadable_pages,
        "term_pages": dict(request.term_pages),
    }
