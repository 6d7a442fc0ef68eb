"""What a question asks: its content words with their importance, its names, numbers and codes, and the type of its answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from ingestion.domain.questions import search_text
from qa.english.words import Kind, Token, is_stop, is_year, tokens


class TermKind(StrEnum):
    WORD = "word"
    GENERIC = "generic"  # says how the question is put more than what it is about
    NAME = "name"
    NUMBER = "number"
    YEAR = "year"
    CODE = "code"


class Expects(StrEnum):
    NUMBER = "number"
    DATE = "date"
    PERSON = "person"
    TEXT = "text"
    YES_NO = "yes_no"
    DERIVED = "derived"  # counting, sums, comparisons, opinions about the whole: no span of a page is the answer


@dataclass(frozen=True, slots=True)
class Term:
    key: str
    surface: str
    kind: TermKind

    @property
    def strict(self) -> bool:
        """Names, numbers, years and codes must be met as they are; words may be said in another way."""
        return self.kind in (TermKind.NAME, TermKind.NUMBER, TermKind.YEAR, TermKind.CODE)


@dataclass(frozen=True, slots=True)
class Asked:
    terms: tuple[Term, ...]
    expects: Expects
    counted: tuple[str, ...] = ()  # keys of the thing that "how many ..." counts


_GENERIC = frozenset(
    """accord according document documents report reports page pages section sections figure figures table tables chart charts slide
    slides paper following list lists listed mention mentioned mentions show shown shows describe described given give provide
    provided stated state states number numbers name names total value values called many much kind type types based refer refers
    referred indicate indicated indicates present presented information detail details example find found answer question tell
    say says specified included include includes long often far old large big high tall deep come comes go goes get gets take
    takes make makes made use used using happen happens author authors first last year years date time""".split()
)
_MONTH = re.compile(r"^(january|february|march|april|may|june|july|august|september|october|november|december|q[1-4])$", re.IGNORECASE)
_DERIVED = re.compile(
    r"\b(difference|sum of|combined|in total across|how many (?:more|less|fewer|times|different|types|kinds|figures|tables|charts|"
    r"pages|slides|sections|chapters|references|images|pictures|photos|people are in|colou?rs|bars|lines|rows|columns|words|authors)|"
    r"how much (?:more|less)|average of|mean of|ratio of .* to|percentage (?:change|difference|increase|decrease)|percent change|"
    r"compare[ds]?|comparing|versus|vs|"
    r"growth rate|year-over-year|year over year|list all|name all|enumerate|summari[sz]e|count the|add(?:ed|ing)? up|"
    r"both .* and|calculate|compute|what is the (?:ratio|quotient)|times (?:as|more|larger|higher)|"
    r"(?:more|less|fewer|higher|lower|greater|larger|smaller|older|younger|longer|shorter|better|worse) than|"
    r"(?:the )?(?:second|third|fourth|fifth)[- ](?:most|highest|lowest|largest|smallest|least)|rank(?:ed|ing)|excluding|other than|"
    r"(?:on|at|in) the (?:far |upper |lower |top |bottom )?(?:left|right|top|bottom)|what colou?rs?|which colou?rs?|shape|icon|logo|"
    r"picture|photo|axis|legend|screenshot)\b",
    re.IGNORECASE,
)
_SUPERLATIVE = re.compile(
    r"\b(highest|lowest|largest|smallest|most|least|biggest|greatest|fewest|longest|shortest|maximum|minimum)\b", re.IGNORECASE
)
_NUMBER_Q = re.compile(
    r"\b(how many|how much|how long|how old|how far|how often|how large|how big|how high|how tall|what (?:is|was|are|were) the "
    r"(?:[\w-]+ ){0,3}(?:percentage|percent|proportion|share|number|amount|price|cost|revenue|income|budget|rate|total|size|"
    r"weight|length|height|width|capacity|temperature|voltage|limit|maximum|minimum|average|score|accuracy|salary|fee|profit|margin|turnover|"
    r"phone number)|"
    r"what (?:percentage|percent|proportion|share|amount|number)|at what (?:price|temperature|rate|age))\b",
    re.IGNORECASE,
)
_DATE_Q = re.compile(
    r"^\W*(?:since |until |by |from )?when\b|\b(?:what|which) (?:year|date|month|day|time)\b|\bin (?:what|which) year\b|"
    r"\bwhat (?:is|was) the (?:[\w-]+ ){0,3}date\b|"
    r"\bon (?:what|which) (?:day|date)\b|\b(?:expiry|effective|publication|due) date\b",
    re.IGNORECASE,
)
_PERSON_Q = re.compile(
    r"\bwho\b(?! (?:can|may|must|should|is allowed|are allowed|is eligible))|\bwhose name\b|"
    r"\bname of the (?:person|author|manager|director|head|ceo|president|chair\w*)\b",
    re.IGNORECASE,
)
_YES_NO_Q = re.compile(r"^\W*(?:is|are|was|were|do|does|did|can|could|may|must|should|has|have|had|will|would)\b", re.IGNORECASE)


def ask(question: str) -> Asked:
    """What the question asks for. Terms keep the question's order, each key once."""
    text = search_text(question)
    found = list(tokens(text))
    first = next((t.start for t in found), 0)
    shouted = text.upper() == text
    terms: dict[str, Term] = {}
    for token in found:
        if is_stop(token):
            continue
        kind = TermKind.WORD if shouted and token.kind is Kind.WORD else _kind(token, text, first)
        old = terms.get(token.key)
        if old is None or (kind is TermKind.NAME and old.kind is TermKind.WORD):
            terms[token.key] = Term(token.key, token.text, kind)
    return Asked(tuple(terms.values()), _expects(text), _counted(text))


def _kind(token: Token, text: str, first: int) -> TermKind:
    if token.kind is Kind.CODE:
        return TermKind.CODE
    if token.kind is Kind.NUMBER:
        return TermKind.YEAR if is_year(token) else TermKind.NUMBER
    if token.text.lower() in _GENERIC:
        return TermKind.GENERIC
    if token.text.upper() in ("FY", "CY"):
        return TermKind.GENERIC
    starts_sentence = token.start == first or re.search(r"[.?!:]['\"”)]?\s+$", text[: token.start]) is not None
    acronym = len(token.text) >= 2 and token.text.isupper()
    if (token.capitalised and not starts_sentence and not _MONTH.match(token.text)) or acronym:
        return TermKind.NAME
    return TermKind.WORD


def _expects(text: str) -> Expects:
    if _DERIVED.search(text):
        return Expects.DERIVED
    if _DATE_Q.search(text):
        return Expects.DATE
    if _NUMBER_Q.search(text):
        return Expects.NUMBER
    if _PERSON_Q.search(text):
        return Expects.PERSON
    if _YES_NO_Q.search(text):
        return Expects.YES_NO
    return Expects.TEXT


def parts_of(question: str) -> tuple[str, ...]:
    """The questions that a question is put together from ("... and how many ..."); one where it is one."""
    text = search_text(question)
    pieces = re.split(r"[?;]\s+|,?\s+and\s+(?=(?:how|what|when|where|who|which|whose|why|is|are|does|do|can)\b)", text, flags=re.IGNORECASE)
    found = tuple(piece.strip() for piece in pieces if len(piece.split()) >= 3)
    return found or (text,)


def superlative(question: str) -> bool:
    """Whether the question asks for an extreme, which one row alone cannot show."""
    return _SUPERLATIVE.search(question) is not None


def _counted(text: str) -> tuple[str, ...]:
    match = re.search(r"\bhow (?:many|much)\s+((?:[\w-]+\s*){1,3})", text, re.IGNORECASE)
    if not match:
        return ()
    keys = []
    for token in tokens(match.group(1)):
        if is_stop(token):
            break
        keys.append(token.key)
    return tuple(keys)
