"""The reader that needs no language model: it answers with verbatim spans of the pages, or not at all.

How it answers. Pages are cut into sentences, rows and items. A span is worth the question's content words that it or what
stands over it (heading, caption, header row) holds, weighted by rarity, with its likeness to the question (MiniLM cosine)
beside it. Up to three spans are taken, each for words that those before it lack. It says `answer` only if the weighted words
are covered, the expected type (number, date, person) stands in a span, and each name, number, year and code of the question
stands on the page or in the document's title. Counting, sums, comparisons and questions about looks have no span for an answer:
it never answers them.

How it votes. Useful: the page holds a chosen span or one nearly as good. Irrelevant: the page's text is readable and its best
span is clearly weak. Everything else: unsure, no vote.

When it may say `not_answerable`. Only if a decisive term of the question (a name, a code or a year) stands on NO visible page
of the scope, by the door's own counts of every spelling that was asked for, and every visible page is readable. Whatever else
it fails to find is `need_more`: that ends as "not found within budget", never as "not in the documents".
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ingestion.domain.evidence import PageView
from ingestion.domain.pages import TextSource
from qa.english.questions import Asked, Expects, Term, TermKind, ask, parts_of, superlative
from qa.english.spans import Span, SpanKind, spans_of
from qa.english.words import Kind, counted_as, is_year, tokens
from qa.loop.ports import TextEmbedder
from qa.memory.episodic import Finding
from qa.memory.trail import DraftCitation, DraftClaim
from qa.seams.reader import PageVote, ReadRequest, ReadResult, ReadStatus, Usage, Vote
from qa.seams.reader.absence import absent_terms, decisive_terms, spellings


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Chosen on hand-made cases and checked on a set of long documents; coarse on purpose. All in [0, 1]."""

    cover: float = 0.72  # share of the question's weighted words that the spans must hold
    cover_yes_no: float = 0.85
    cosine: float = 0.45
    gain: float = 0.15  # what a second or third span must add
    near_best: float = 0.9  # a span this close to the best makes its page useful
    useful: float = 0.55
    weak_cover: float = 0.25
    weak_cosine: float = 0.3


@dataclass(frozen=True, slots=True)
class _Scored:
    page: PageView
    span: Span
    held: Mapping[str, float]  # term key -> how firmly it is held, in [0, 1]
    cover: float
    cosine: float = 0.0
    typed: bool = False

    @property
    def score(self) -> float:
        return 0.55 * self.cover + 0.35 * max(self.cosine, 0.0) + (0.1 if self.typed else 0.0)

    @property
    def text(self) -> str:
        return self.page.text[self.span.start : self.span.end]


# How firmly a term is held by where it stands.
OWN, CONTEXT, ASKED_BEFORE, BEFORE, TITLE = 1.0, 0.75, 0.8, 0.4, 0.6
COMPARED, MOST_SPANS = 30, 3
FOUND = 0.4  # a span that covers this much is a finding; before there is one, the question itself is the best query
_DATE = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\b[\s,]*\d|\b\d{1,2}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:jan|feb|mar|apr|may|jun|"
    r"jul|aug|sep|oct|nov|dec)|\b(?:1[89]|20|21)\d\d\b|\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b",
    re.IGNORECASE,
)
_PERSON = re.compile(r"\b(?:[A-Z][a-zà-ÿ]+|[A-Z]\.)(?:\s+(?:[A-Z]\.|van|von|de|der|da|bin|al))*\s+[A-Z][\wà-ÿ'’-]+")


class ExtractiveReader:
    """Verbatim spans only. Without an embedder given, the page embedder of the settings compares spans with the question."""

    looks_at_pictures = False
    verbatim = True

    def __init__(self, embedder: TextEmbedder | None = None, thresholds: Thresholds | None = None) -> None:
        self._given = embedder
        self.thresholds = thresholds or Thresholds()

    @property
    def _embedder(self) -> TextEmbedder:
        if self._given is None:
            from ingestion.seams import load

            self._given = load("page_embedder")
        return self._given

    @property
    def versions(self) -> Mapping[str, str]:
        space = getattr(self._embedder, "space", None)
        settings = "/".join(f"{value:g}" for value in vars_of(self.thresholds))
        return {"reader": f"extractive/1 {settings}", **({"reader_model": f"{space.name} {space.fingerprint[:12]}"} if space else {})}

    def vocabulary(self, question: str) -> str:
        asked = ask(question)
        forms = [form for term in decisive_terms(asked) for form in spellings(term)]
        return " ".join(dict.fromkeys((*(term.surface for term in asked.terms), *forms)))

    def read(self, request: ReadRequest) -> ReadResult:
        asked = ask(request.question)
        absent = absent_terms(asked, request.term_pages, request.pages, request.unreadable_pages)
        weights = _weights(asked, request)
        scored = self._score(request, asked, weights)
        if absent:
            return self._absent(request, scored, absent)
        chosen = self._choose(scored, asked, weights)
        covered = _covered(chosen)
        cover = _share(covered, weights)
        failed = self._failed_rules(request.question, asked, chosen, covered, cover)
        lacking = [t for t in _by_weight(asked, weights) if covered.get(t.key, 0.0) < BEFORE and t.kind is not TermKind.GENERIC]
        missing = tuple(t.surface for t in lacking)
        status = ReadStatus.NEED_MORE if failed else ReadStatus.ANSWER
        claims = tuple(_claim(s) for s in chosen) if status is ReadStatus.ANSWER else ()
        found = [s for s in chosen if s.cover >= FOUND]
        return ReadResult(
            status=status,
            answer=" ".join(claim.text for claim in claims),
            claims=claims,
            votes=self._votes(request, scored, chosen if not failed else []),
            findings=tuple(Finding(_flat(s.text), s.page.page_id, s.span.start, s.span.end) for s in found),
            missing=missing,
            refined_query=_refined(asked, lacking) if found else "",
            confidence=self._confidence(chosen, cover) if claims else 0.0,
            usage=Usage(),
            response={"cover": round(cover, 4), "rules_failed": failed, "spans": [_summary(s) for s in (chosen or scored[:3])]},
        )

    def _absent(self, request: ReadRequest, scored: list[_Scored], absent: Mapping[str, Mapping[str, int]]) -> ReadResult:
        return ReadResult(
            status=ReadStatus.NOT_ANSWERABLE,
            votes=self._votes(request, scored, []),
            missing=tuple(absent),
            confidence=1.0,
            absent_terms=absent,
            response={"absent": {term: dict(forms) for term, forms in absent.items()}},
        )

    def _score(self, request: ReadRequest, asked: Asked, weights: Mapping[str, float]) -> list[_Scored]:
        """Every span of every page, best first; those that hold most are compared with the question by meaning."""
        scored = [s for page in request.pages for s in _page_spans(page, asked, weights)]
        scored.sort(key=lambda s: (-s.cover, s.span.end - s.span.start))
        best, rest = scored[:COMPARED], scored[COMPARED:]
        if best:
            asks = list(dict.fromkeys((request.question, *parts_of(request.question))))
            vectors = self._embedder.embed_texts([*asks, *(f"{s.span.context[-120:]} {s.text}".strip() for s in best)])
            cosines = (np.asarray(vectors[len(asks) :]) @ np.asarray(vectors[: len(asks)]).T).max(axis=1)
            best = [
                _Scored(s.page, s.span, s.held, s.cover, float(c), _has_type(s.text, asked)) for s, c in zip(best, cosines, strict=True)
            ]
        return sorted(best, key=lambda s: -s.score) + rest

    def _choose(self, scored: list[_Scored], asked: Asked, weights: Mapping[str, float]) -> list[_Scored]:
        """The best span that may be an answer, then spans that hold what is still lacking."""
        fit = [s for s in scored[:COMPARED] if _may_answer(s, asked)]
        if not fit:
            return []
        chosen = [fit[0]]
        while len(chosen) < MOST_SPANS:
            covered = _covered(chosen)
            now = _share(covered, weights)
            gains = [(self._gain(s, covered, weights) - now, s) for s in fit if not any(_overlap(s, c) for c in chosen)]
            gain, best = max(gains, key=lambda g: (g[0], g[1].score), default=(0.0, None))
            if best is None or gain < self.thresholds.gain or best.cosine < self.thresholds.cosine * 0.7:
                break
            chosen.append(best)
        return chosen

    @staticmethod
    def _gain(scored: _Scored, covered: Mapping[str, float], weights: Mapping[str, float]) -> float:
        return _share({key: max(covered.get(key, 0.0), scored.held.get(key, 0.0)) for key in weights}, weights)

    def _failed_rules(
        self, question: str, asked: Asked, chosen: list[_Scored], covered: Mapping[str, float], cover: float
    ) -> list[str]:
        """The names of the rules that keep the chosen spans from being an answer."""
        if not chosen:
            return ["no_span"]
        limits = self.thresholds
        least = limits.cover_yes_no if asked.expects is Expects.YES_NO else limits.cover
        strict = [t for t in asked.terms if t.strict]
        on_pages = [_page_keys(s.page) for s in chosen]
        rules = {
            "derived": asked.expects is Expects.DERIVED,
            "superlative": superlative(question) and not any(superlative(s.text) for s in chosen),
            "cover": cover < least,
            "cosine": chosen[0].cosine < limits.cosine,
            "type": asked.expects in (Expects.NUMBER, Expects.DATE, Expects.PERSON) and not any(s.typed for s in chosen),
            "strict_term": any(not any(t.key in keys for keys in on_pages) for t in strict),
            "year": any(t.kind is TermKind.YEAR and covered.get(t.key, 0.0) <= 0.0 for t in strict),
            "counted": bool(asked.counted) and not any(set(asked.counted) & set(s.held) for s in chosen if s.typed),
        }
        return [name for name, broken in rules.items() if broken]

    @staticmethod
    def _confidence(chosen: list[_Scored], cover: float) -> float:
        return round(min(1.0, 0.5 * cover + 0.5 * max(chosen[0].cosine, 0.0)), 4)

    def _votes(self, request: ReadRequest, scored: list[_Scored], chosen: list[_Scored]) -> tuple[PageVote, ...]:
        limits, votes = self.thresholds, []
        bar = max((s.score for s in chosen), default=0.0) * limits.near_best
        for page in request.pages:
            own = [s for s in scored if s.page.page_id == page.page_id]
            best = max(own, key=lambda s: s.score, default=None)
            holds = any(s.page.page_id == page.page_id for s in chosen)
            near = best is not None and best.score >= max(bar, limits.useful) and best.cosine >= limits.cosine
            if holds or near:
                votes.append(PageVote(page.page_id, Vote.USEFUL))
            else:
                clear = page.source is not TextSource.NONE and best is not None
                weak = clear and best.cover < limits.weak_cover and best.cosine < limits.weak_cosine
                votes.append(PageVote(page.page_id, Vote.IRRELEVANT if weak else Vote.UNSURE))
        return tuple(votes)


def vars_of(thresholds: Thresholds) -> list[float]:
    return [getattr(thresholds, name) for name in thresholds.__slots__]


def _weights(asked: Asked, request: ReadRequest) -> dict[str, float]:
    """A term's rarity over the asker's visible pages where it was counted, else over the pages in hand; generic words weigh little."""
    counts = {k.lower(): v for k, v in request.term_pages.items()}
    keys = [_page_keys(page) for page in request.pages]
    weights = {}
    for term in asked.terms:
        counted = counted_as(term.surface, counts) if counts else None
        total = request.visible_pages if counted is not None else len(keys)
        having = counted if counted is not None else sum(term.key in own for own in keys)
        rarity = math.log(1.0 + (max(total - having, 0) + 0.5) / (having + 0.5)) + 0.3
        weights[term.key] = rarity * (0.3 if term.kind is TermKind.GENERIC else 1.0)
    return weights


def _page_keys(page: PageView) -> frozenset[str]:
    return frozenset(t.key for t in tokens(f"{page.text}\n{page.document_title}\n{page.section}"))


def _page_spans(page: PageView, asked: Asked, weights: Mapping[str, float]) -> list[_Scored]:
    title = {t.key for t in tokens(f"{page.document_title} {page.section}")}
    wanted = {term.key: term for term in asked.terms}
    scored = []
    for span in spans_of(page.text, page.blocks):
        own = {t.key for t in tokens(page.text[span.start : span.end])}
        over = {t.key for t in tokens(span.context)}
        before = {t.key for t in tokens(span.before)}
        held = {}
        for key in wanted:
            if key in own:
                held[key] = OWN
            elif key in over:
                held[key] = CONTEXT
            elif key in before:
                held[key] = ASKED_BEFORE if span.before.rstrip().endswith("?") else BEFORE
            elif key in title:
                held[key] = TITLE
        scored.append(_Scored(page, span, held, _share(held, weights)))
    return scored


def _share(held: Mapping[str, float], weights: Mapping[str, float]) -> float:
    total = sum(weights.values())
    return sum(weights[key] * held.get(key, 0.0) for key in weights) / total if total else 0.0


def _covered(chosen: Sequence[_Scored]) -> dict[str, float]:
    covered: dict[str, float] = {}
    for scored in chosen:
        for key, value in scored.held.items():
            covered[key] = max(covered.get(key, 0.0), value)
    return covered


def _may_answer(scored: _Scored, asked: Asked) -> bool:
    """Headings, tables of contents and questions are no answers; neither is a span that speaks of another year, or says nothing new."""
    text = scored.text
    if scored.span.kind is SpanKind.HEADING or text.rstrip().endswith("?") or scored.page.role in ("toc", "index"):
        return False
    found = list(tokens(text))
    asked_keys = {term.key for term in asked.terms}
    years = {t.key for t in found if is_year(t)}
    asked_years = {term.key for term in asked.terms if term.kind is TermKind.YEAR}
    if asked_years and years and not asked_years & years:
        return False
    fresh = [t for t in found if t.key not in asked_keys and (t.kind is not Kind.WORD or len(t.text) > 2)]
    return len(fresh) >= (1 if scored.typed else 2)


def _has_type(text: str, asked: Asked) -> bool:
    """Whether the span holds a thing of the expected type that the question itself did not give."""
    given = {term.key for term in asked.terms}
    if asked.expects is Expects.NUMBER:
        return any(t.kind is Kind.NUMBER and t.key not in given and not (is_year(t) and not asked.counted) for t in tokens(text))
    if asked.expects is Expects.DATE:
        dates = [m.group() for m in _DATE.finditer(text)]
        return any(not {t.key for t in tokens(d) if t.kind is Kind.NUMBER} <= given or "day" in d.lower() for d in dates)
    if asked.expects is Expects.PERSON:
        return any(not {t.key for t in tokens(m.group())} & given for m in _PERSON.finditer(text))
    return True


def _claim(scored: _Scored) -> DraftClaim:
    """The span, and the header row above it where it is a row of a table."""
    page, span = scored.page, scored.span
    ranges = [(span.start, span.end), *([span.header] if span.header else [])]
    citations = tuple(DraftCitation(page.page_id, start, end, page.text[start:end]) for start, end in ranges)
    return DraftClaim(_flat(scored.text), citations)


def _overlap(one: _Scored, other: _Scored) -> bool:
    return one.page.page_id == other.page.page_id and one.span.start < other.span.end and other.span.start < one.span.end


def _by_weight(asked: Asked, weights: Mapping[str, float]) -> list[Term]:
    return sorted(asked.terms, key=lambda term: -weights[term.key])


def _refined(asked: Asked, lacking: Sequence[Term]) -> str:
    """What is missing, with the question's names, codes and years; empty unless a name, code, number or year is missing.

    Where only ordinary words are missing, the question itself was measured to be the better query.
    """
    if not any(term.strict for term in lacking):
        return ""
    anchors = [term.surface for term in asked.terms if term.strict]
    return " ".join(dict.fromkeys((*(term.surface for term in lacking), *anchors)))


def _summary(scored: _Scored) -> dict[str, object]:
    place = {"page_id": str(scored.page.page_id), "start": scored.span.start, "end": scored.span.end}
    return {**place, "cover": round(scored.cover, 4), "cosine": round(scored.cosine, 4), "typed": scored.typed}


def _flat(text: str) -> str:
    return " ".join(text.split())
