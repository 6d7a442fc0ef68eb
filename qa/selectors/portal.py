"""What the asker sees of his own questions. Nobody else sees them, and he sees of them what he may still read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.core.paginator import Page as PaginatedPage
from django.core.paginator import Paginator
from django.utils import timezone

from ingestion.domain.evidence import Asker
from ingestion.models import Page, User
from ingestion.selectors.evidence import readable_corpora, readable_documents
from ingestion.selectors.newer import Newer
from ingestion.selectors.visibility import asker_for
from qa.gate.reasons import sentence
from qa.models import Citation, Claim, Round, Run, RunState, Verdict
from qa.selectors.freshness import MARK_WORDS, Mark, mark_of, newer_than
from qa.selectors.rounds import PagePlace, page_places, shown_in, verdicts_in
from qa.selectors.standing import Standing, standings

RUNS_A_PAGE = 25
CHOICES_SHOWN = 1000
PATIENCE = timedelta(seconds=20)

VERDICT_WORDS: Mapping[str, tuple[str, str]] = {
    Verdict.ANSWERED: ("Answered", ""),
    Verdict.NOT_IN_DOCUMENTS: (
        "Not in the documents",
        "What you may read here was searched, and it does not hold an answer to this question.",
    ),
    Verdict.NOT_FOUND: (
        "Not found within the budget",
        "No answer was found in the pages that were read. That does not mean there is none.",
    ),
    Verdict.NO_READABLE_DOCUMENTS: ("No readable documents", "So there is nothing to answer from."),
}


# --- asking ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Choices:
    """What a person may ask about: corpora in which he reads something, and the documents of the chosen one."""

    corpora: Sequence[tuple[str, str]]
    corpus: str
    documents: Sequence[tuple[UUID, str]]
    cut: bool


def choices(user: User, corpus_slug: str = "") -> Choices:
    """The choices, with `corpus_slug` chosen where it is one of them, else the first."""
    asker = asker_for(user)
    corpora = readable_corpora(asker)
    slugs = [slug for slug, _ in corpora]
    chosen = corpus_slug if corpus_slug in slugs else (slugs[0] if slugs else "")
    found = readable_documents(asker, chosen) if chosen else []
    documents = sorted(((key, title or external) for key, title, external in found), key=lambda d: d[1].casefold())
    return Choices(corpora, chosen, documents[:CHOICES_SHOWN], len(documents) > CHOICES_SHOWN)


# --- past questions ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunRow:
    id: UUID
    question: str
    corpus_slug: str
    state: str
    verdict: str
    asked_at: datetime


def own_runs(user: User, page: str | int = 1, each: int = RUNS_A_PAGE) -> tuple[list[RunRow], PaginatedPage]:
    """The person's own questions, newest first."""
    runs = Run.objects.filter(question__asker=user, as_of__isnull=True).select_related("question").order_by("-created_at")
    shown = Paginator(runs, each).get_page(page)
    return [_run_row(run) for run in shown], shown


def _run_row(run: Run) -> RunRow:
    question = run.question
    return RunRow(run.id, question.text, question.corpus_slug, run.state, run.verdict, question.asked_at)


def own_run(user: User, run_id: UUID) -> Run | None:
    """The run, if the person asked it himself; a look of an auditor at the past is none of the portal's."""
    runs = Run.objects.filter(id=run_id, question__asker=user, as_of__isnull=True)
    return runs.select_related("question__document", "question__asker").first()


# --- a run -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PageRead:
    """A page that was read; `place` is None when it is not to be had any more."""

    place: PagePlace | None
    verdict: str


@dataclass(frozen=True, slots=True)
class RoundView:
    number: int
    pages: tuple[PageRead, ...]
    gone: int
    missing: tuple[str, ...]
    query: str
    status: str


@dataclass(frozen=True, slots=True)
class CitationView:
    id: UUID
    title: str
    version: int
    page_number: int
    label: str
    quote: str
    standing: Standing

    @property
    def printed(self) -> str:
        """The printed label where it differs from the physical number."""
        return self.label if self.label and self.label != str(self.page_number) else ""


@dataclass(frozen=True, slots=True)
class ClaimView:
    """`text` is None when a page that carries the claim may not be read any more."""

    number: int
    text: str | None
    citations: tuple[CitationView, ...]


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as its asker sees it now. `token` changes when what a poll would show does."""

    id: UUID
    question: str
    corpus_slug: str
    document_id: UUID | None
    document_title: str
    state: str
    verdict: str
    verdict_title: str
    verdict_words: str
    reason: str
    rounds: tuple[RoundView, ...]
    claims: tuple[ClaimView, ...]
    mark: str  # of an answer: what is to be said of it as it stands now; empty where it is current
    newer: tuple[Newer, ...]  # of an abstention: documents that it never saw
    asked_at: datetime
    nobody_took_it: bool
    token: str

    @property
    def open(self) -> bool:
        return self.state in (RunState.WAITING, RunState.RUNNING)


def run_view(run: Run) -> RunView:
    """The run with its rounds, and the answer by claims."""
    asker = asker_for(run.question.asker)
    rounds = list(Round.objects.filter(run=run).order_by("number"))
    claims = list(
        Claim.objects.filter(answer__run=run)
        .order_by("ordinal")
        .prefetch_related("citations__document", "citations__version")
    )
    cited = [citation.page_id for claim in claims for citation in claim.citations.all()]
    read = [page_id for item in rounds for page_id in shown_in(item)]
    now = standings(asker, [*cited, *read])
    claim_views = tuple(claim_view(number, claim, now) for number, claim in enumerate(claims, start=1))
    title, words = VERDICT_WORDS.get(run.verdict, ("", ""))
    nobody = run.state == RunState.WAITING and timezone.now() - run.created_at > PATIENCE
    return RunView(
        id=run.id,
        question=run.question.text,
        corpus_slug=run.question.corpus_slug,
        document_id=run.question.document_asked,
        document_title=_document_title(asker, run),
        state=run.state,
        verdict=run.verdict,
        verdict_title=title,
        verdict_words=words,
        reason=_reason(run),
        rounds=_round_views(rounds, now),
        claims=claim_views,
        mark=_mark(run, claims, now),
        newer=tuple(newer_than(asker, run)),
        asked_at=run.question.asked_at,
        nobody_took_it=nobody,
        token=f"{run.state}-{run.restarts}-{len(rounds)}-{int(nobody)}",
    )


def _mark(run: Run, claims: Sequence[Claim], now: Mapping[UUID, Standing]) -> str:
    if run.state != RunState.DONE or run.verdict != Verdict.ANSWERED:
        return ""
    standing = [now.get(citation.page_id, Standing.GONE) for claim in claims for citation in claim.citations.all()]
    bare = any(not claim.citations.all() for claim in claims)  # a purged page takes its citations with it
    return MARK_WORDS[Mark.NOT_AVAILABLE if bare else mark_of(standing)]


def reason_sentence(code: str) -> str:
    """What a person reads for a reason code; a code of an older release has no sentence any more and stands for itself."""
    try:
        return sentence(code)
    except ValueError:
        return f"Reason: {code}." if code else ""


def _reason(run: Run) -> str:
    if run.state != RunState.DONE or run.verdict == Verdict.ANSWERED:
        return ""
    return reason_sentence(run.reason)


def _document_title(asker: Asker, run: Run) -> str:
    question = run.question
    if question.document_asked is None:
        return ""
    readable = {key: title or external for key, title, external in readable_documents(asker, question.corpus_slug)}
    return readable.get(question.document_asked, "one document")


def claim_view(number: int, claim: Claim, now: Mapping[UUID, Standing]) -> ClaimView:
    """The claim with its citations, or without text when a page that carries it may not be read or is no longer held."""
    citations = sorted(claim.citations.all(), key=lambda citation: citation.ordinal)
    standing = [now.get(citation.page_id, Standing.GONE) for citation in citations]
    if not standing or not all(one.text_may_be_shown for one in standing):  # a purged page takes its citations with it
        return ClaimView(number, None, ())
    views = tuple(_citation_view(citation, one) for citation, one in zip(citations, standing, strict=True))
    return ClaimView(number, claim.text, views)


def _citation_view(citation: Citation, standing: Standing) -> CitationView:
    return CitationView(
        id=citation.id,
        title=str(citation.document),
        version=citation.version.number,
        page_number=citation.page_number,
        label=citation.label,
        quote=citation.quote,
        standing=standing,
    )


def _round_views(rounds: Sequence[Round], now: Mapping[UUID, Standing]) -> tuple[RoundView, ...]:
    places = page_places(page_id for page_id, one in now.items() if one.text_may_be_shown)
    views = []
    readable = True
    for item in rounds:
        shown, verdicts = shown_in(item), verdicts_in(item)
        held = [page_id for page_id in shown if page_id in places]
        readable = readable and len(held) == len(shown)  # what a round says may come from every page read so far
        missing = item.texts.get("missing") or () if readable else ()
        views.append(
            RoundView(
                number=item.number,
                pages=tuple(PageRead(places[page_id], verdicts.get(page_id, "")) for page_id in held),
                gone=len(shown) - len(held),
                missing=tuple(str(m) for m in ([missing] if isinstance(missing, str) else missing)),
                query=str(item.texts.get("query") or "") if readable else "",
                status=str(item.record.get("status") or ""),
            )
        )
    return tuple(views)


# --- a citation --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rectangle:
    """In fractions of the displayed page, as text for SVG."""

    x: str
    y: str
    width: str
    height: str


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """A citation with its page, and the others of the same answer. `page_id` is None unless the page can be opened now."""

    run_id: UUID
    question: str
    claim: str | None
    citation: CitationView | None
    page_id: UUID | None
    width: int
    height: int
    boxes: tuple[Rectangle, ...]
    others: tuple[CitationView, ...]
    standing: Standing


def evidence_view(run: Run, citation_id: UUID) -> EvidenceView:
    """The citation of this run. One that was purged with its page, or never was, is `gone` as one that is forbidden now."""
    citation = Citation.objects.filter(id=citation_id, claim__answer__run=run).first()
    view = run_view(run)
    everything = [(claim, c) for claim in view.claims for c in claim.citations]
    claim, shown = next(((claim, c) for claim, c in everything if c.id == citation_id), (None, None))
    standing = shown.standing if shown else Standing.GONE
    page = Page.objects.filter(id=citation.page_id).first() if citation and standing is Standing.OPEN else None
    return EvidenceView(
        run_id=run.id,
        question=run.question.text,
        claim=claim.text if claim else None,
        citation=shown,
        page_id=page.id if page and page.image_key else None,
        width=round(page.width) if page else 0,
        height=round(page.height) if page else 0,
        boxes=tuple(_rectangle(box) for box in citation.boxes) if citation and page else (),
        others=tuple(c for _, c in everything if c.id != citation_id),
        standing=standing,
    )


def _rectangle(box: Sequence[float]) -> Rectangle:
    x0, y0, x1, y1 = (min(max(float(edge), 0.0), 1.0) for edge in box)
    return Rectangle(f"{x0:.5f}", f"{y0:.5f}", f"{max(x1 - x0, 0):.5f}", f"{max(y1 - y0, 0):.5f}")
