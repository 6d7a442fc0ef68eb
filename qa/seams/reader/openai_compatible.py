"""The reader over the language model seam: labelled page pictures and texts, the question last, a strict schema for what comes back.

A label ("P3") is the only name that a page has for the model, so no printed number, range or list can be taken for one. Text of pages, of
people and of earlier rounds goes in as data, with the model's own control tokens taken out. Nothing that comes back is believed: labels
must be of this request, and a quote must stand on its page, else it is dropped and named in `flags`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ingestion.domain.cleaning import without_tokens
from ingestion.domain.evidence import PageView
from ingestion.seams.language_model import ImagePart, LanguageModel, ModelFailure, ModelReply, ModelRequest, TextPart
from qa.loop.prompts import prompt
from qa.memory.episodic import Finding
from qa.memory.trail import DraftCitation, DraftClaim
from qa.seams.reader import CropRequest, PageVote, ReaderFailure, ReadRequest, ReadResult, ReadStatus, Usage, Vote

MAX_PAGE_CHARACTERS = 12_000
# Placeholders of vision models and chat templates: in a text they could crash an engine or pass for the end of a turn.
_CONTROL = re.compile(r"<\|[^|<>\n]{1,40}\|>|</?(?:image|img|video|s|think)>|\[/?INST\]|<<?/?SYS>?>", re.IGNORECASE)


class _Quoted(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    page: str
    quote: str = Field(max_length=2000)


class _Claim(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    text: str = Field(max_length=2000)
    citations: list[_Quoted]


class _FindingReply(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    text: str = Field(max_length=1000)
    page: str
    quote: str = Field(max_length=2000)


class _CropReply(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    page: str
    kind: Literal["table", "figure"]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    status: Literal["answer", "need_more", "not_answerable"]
    answer: str = Field(max_length=4000)
    claims: list[_Claim]
    useful_pages: list[str]
    irrelevant_pages: list[str]
    findings: list[_FindingReply]
    missing: list[str]
    refined_query: str = Field(max_length=1000)
    crop_requests: list[_CropReply]
    confidence: float = Field(ge=0.0, le=1.0)


class OpenAICompatibleReader:
    """Without a model given, the language model of the settings reads."""

    looks_at_pictures = True
    verbatim = False

    def __init__(self, model: LanguageModel | None = None, max_tokens: int = 2048, seconds: float = 180.0) -> None:
        self._given = model
        self._max_tokens = max_tokens
        self._seconds = seconds
        self._prompt = prompt("read")

    @property
    def _model(self) -> LanguageModel:
        if self._given is None:
            from ingestion.seams import load

            self._given = load("language_model")
        return self._given

    @property
    def versions(self) -> Mapping[str, str]:
        return {"reader": "openai_compatible/1", "reader_prompt": self._prompt.version}

    def vocabulary(self, question: str) -> str:
        return ""

    def read(self, request: ReadRequest) -> ReadResult:
        labels = {f"P{index}": page for index, page in enumerate(request.pages, start=1)}
        asked = ModelRequest(
            system=self._prompt.text,
            parts=_parts(request, labels),
            schema_name="reading",
            schema=_schema(list(labels)),
            max_tokens=self._max_tokens,
            seconds=self._seconds,
        )
        try:
            reply = self._model.complete(asked)
        except ModelFailure as failure:
            raise ReaderFailure(failure.code, str(failure)) from failure
        try:
            parsed = _Reply.model_validate(dict(reply.content))
        except ValidationError as error:
            raise ReaderFailure("reply_malformed", f"{error.error_count()} broken rules") from error
        return _result(parsed, reply, labels, request)


def clean(text: str) -> str:
    """The text without control tokens of models and without NUL."""
    return without_tokens(_CONTROL.sub(" ", text.replace("\x00", " ")))


def _parts(request: ReadRequest, labels: Mapping[str, PageView]) -> list[TextPart | ImagePart]:
    """Pages first, then closer views, then notes, the question last."""
    parts: list[TextPart | ImagePart] = []
    names = {page.page_id: label for label, page in labels.items()}
    for label, page in labels.items():
        if page.page_id in request.images:
            parts += [TextPart(f"PAGE {label} (picture)"), ImagePart(request.images[page.page_id])]
        text = clean(page.text)[:MAX_PAGE_CHARACTERS]
        facts = {"label": label, "document": clean(page.document_title), "page_number": page.number, "text": text}
        parts.append(TextPart(f"PAGE {label} (text) {json.dumps(facts, ensure_ascii=False)}"))
    for crop in request.crops:
        if crop.page_id in names:
            parts += [TextPart(f"CLOSER VIEW of PAGE {names[crop.page_id]} {clean(crop.label)}".strip()), ImagePart(crop.image)]
    notes = {
        "found": [clean(finding.text) for finding in request.brief.findings],
        "missing": [clean(text) for text in request.brief.missing],
        "pages_read": [{"page_number": number, "verdict": verdict} for number, verdict in request.brief.pages_read],
        "queries_tried": [clean(query) for query in request.brief.queries],
    }
    if any(notes.values()):
        parts.append(TextPart(f"NOTES {json.dumps(notes, ensure_ascii=False)}"))
    ask = {"query_of_this_round": clean(request.query), "last_round": request.last_round, "original_question": clean(request.question)}
    parts.append(TextPart(f"QUESTION {json.dumps(ask, ensure_ascii=False)}"))
    return parts


def _schema(labels: Sequence[str]) -> dict[str, Any]:
    page = {"type": "string", "enum": list(labels)}
    text = {"type": "string"}
    quoted = _object({"page": page, "quote": text})
    pages = {"type": "array", "items": page, "maxItems": len(labels)}
    return _object(
        {
            "status": {"type": "string", "enum": [str(status) for status in ReadStatus]},
            "answer": text,
            "claims": _array(_object({"text": text, "citations": _array(quoted, 6)}), 12),
            "useful_pages": pages,
            "irrelevant_pages": pages,
            "findings": _array(_object({"text": text, "page": page, "quote": text}), 12),
            "missing": _array(text, 8),
            "refined_query": text,
            "crop_requests": _array(_object({"page": page, "kind": {"type": "string", "enum": ["table", "figure"]}}), 5),
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        }
    )


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(properties), "additionalProperties": False}


def _array(items: Mapping[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "items": dict(items), "maxItems": most}


def _result(reply: _Reply, raw: ModelReply, labels: Mapping[str, PageView], request: ReadRequest) -> ReadResult:
    flags: list[str] = []
    claims = []
    for claim in reply.claims:
        places = [_place(quoted.page, quoted.quote, labels, flags) for quoted in claim.citations]
        claims.append(DraftClaim(claim.text.strip(), tuple(place for place in places if place is not None)))
    findings = []
    for finding in reply.findings:
        place = _place(finding.page, finding.quote, labels, flags)
        if place is not None:
            findings.append(Finding(finding.text.strip(), place.page_id, place.start, place.end))
    return ReadResult(
        status=ReadStatus(reply.status),
        answer=reply.answer.strip(),
        claims=tuple(claims),
        votes=tuple(_votes(reply, labels, flags)),
        findings=tuple(findings),
        missing=tuple(text.strip() for text in reply.missing if text.strip()),
        refined_query="" if request.last_round else reply.refined_query.strip(),
        crop_requests=tuple(CropRequest(labels[c.page].page_id, c.kind) for c in reply.crop_requests if c.page in labels),
        confidence=reply.confidence,
        usage=Usage(1, raw.input_tokens, raw.output_tokens),
        flags=tuple(flags),
        response={"model": raw.model, "reply": dict(raw.content)},
    )


def _votes(reply: _Reply, labels: Mapping[str, PageView], flags: list[str]) -> list[PageVote]:
    """As said, contradictions included: the belief memory decides what counts. A label of no page is dropped."""
    votes = []
    for names, vote in ((reply.useful_pages, Vote.USEFUL), (reply.irrelevant_pages, Vote.IRRELEVANT)):
        for name in names:
            if name in labels:
                votes.append(PageVote(labels[name].page_id, vote))
            else:
                flags.append("vote_for_unknown_page")
    return votes


def _place(label: str, quote: str, labels: Mapping[str, PageView], flags: list[str]) -> DraftCitation | None:
    """Where the quote stands on the page, white space and the look of quotation marks and dashes aside; the page's own text is cited."""
    if label not in labels:
        flags.append("citation_of_unknown_page")
        return None
    page, pieces = labels[label], quote.split()
    pattern = r"\s+".join("".join(_ALIKE.get(c, re.escape(c)) for c in piece) for piece in pieces)
    match = re.search(pattern, page.text) if pieces else None
    if match is None:
        flags.append("quote_not_on_page")
        return None
    return DraftCitation(page.page_id, match.start(), match.end(), page.text[match.start() : match.end()])


_ALIKE = {c: f"[{re.escape(group)}]" for group in ("'’‘`", '"“”„', "-‐‑–—") for c in group}
