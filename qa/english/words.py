"""Words, numbers and codes of a text, each with the key by which two spellings of the same thing meet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache


class Kind(StrEnum):
    WORD = "word"
    NUMBER = "number"
    CODE = "code"  # letters and digits together: PX-200, Q3, COVID-19


@dataclass(frozen=True, slots=True)
class Token:
    """`text` is the range `start:end`; `key` is a stem, a number without its commas, or a code without its separators."""

    text: str
    start: int
    end: int
    kind: Kind
    key: str

    @property
    def capitalised(self) -> bool:
        return self.text[:1].isupper()


STOP_WORDS = frozenset(
    """a about above after again all also am an and any are as at be because been before being below between both but by can could
    did do does doing down during each few for from further had has have having he her here hers him his how i if in into is it
    its itself just may me might more most must my no nor not of off on once only or other our ours out over own per same shall
    she should so some such than that the their theirs them then there these they this those through to too under until up upon
    us very via was we were what when where which while who whom whose why will with within without would you your yours s t d ll
    m re ve don doesn didn isn aren wasn weren please""".split()
)

_PART = re.compile(
    r"(?:[A-Za-z]\.){2,}"  # U.S.
    r"|\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d\w])"  # 1,234.5
    r"|\d+(?:\.\d+){2,}"  # 3.2.1
    r"|\d+\.\d+(?![\d\w])"  # 2.5
    r"|[^\W_]+(?:[-/][^\W_]+)*(?:['’][^\W\d_]+)?"
    r"|_+[^\W_]+"
)
_UNITS = frozenset(
    """k m mn bn b kg g mg t km cm mm nm mi ft in kw mw gw kwh mwh w v hz khz mhz ghz gb mb kb tb ml l h hr hrs min s ms am pm x pt
    px usd eur percent pp bps c f""".split()
)
_VOWEL = re.compile(r"[aeiouy]")


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A light stem of a lower-case word: plurals, -ing, -ed and a last -e go; nothing else does."""
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith(("sses", "xes", "ches", "shes", "zes")):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for suffix in ("ing", "ed"):
        base = word[: -len(suffix)]
        if word.endswith(suffix) and len(base) >= 3 and _VOWEL.search(base):
            word = base[:-1] if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz" else base
            break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def number_key(text: str) -> str:
    """The number without commas and without zeros that say nothing: 1,250.00 -> 1250."""
    plain = text.replace(",", "")
    if plain.count(".") == 1:
        plain = plain.rstrip("0").rstrip(".")
    return plain.lstrip("0") or "0"


def tokens(text: str) -> Iterator[Token]:
    """Every word, number and code of the text, in order. Hyphens join codes and part words."""
    for match in _PART.finditer(text):
        part = match.group()
        if part[0].isalpha() and part.count(".") >= 2:
            yield Token(part, match.start(), match.end(), Kind.WORD, part.lower().replace(".", "") + ".")
            continue
        yield from _split(part, match.start())


def _split(part: str, start: int) -> Iterator[Token]:
    if not any(c.isdigit() for c in part):
        offset = 0
        for piece in re.split(r"[-/]", part):
            yield _word(piece, start + offset)
            offset += len(piece) + 1
        return
    if part[0].isdigit() and re.fullmatch(r"[\d.,]+", part):
        many = part.count(".") > 1
        yield Token(part, start, start + len(part), Kind.CODE if many else Kind.NUMBER, part if many else number_key(part))
        return
    fiscal = re.fullmatch(r"(FY|CY)((?:19|20)?\d\d)", part, re.IGNORECASE)
    if fiscal:
        yield _word(part[:2], start)
        year = fiscal.group(2) if len(part) == 6 else f"20{fiscal.group(2)}"  # FY22 is the year 2022
        yield Token(part[2:], start + 2, start + len(part), Kind.NUMBER, year)
        return
    pieces = re.split(r"[-/]", part)
    if len(pieces) > 1 and not _is_code(pieces):
        offset = 0
        for piece in pieces:
            yield from _split(piece, start + offset)
            offset += len(piece) + 1
        return
    unit = re.fullmatch(r"(\d+)([^\W\d_]+)", part)
    if unit and unit.group(2).lower() in _UNITS:
        yield Token(unit.group(1), start, start + len(unit.group(1)), Kind.NUMBER, number_key(unit.group(1)))
        yield _word(unit.group(2), start + len(unit.group(1)))
        return
    plain = re.fullmatch(r"\d+(?:st|nd|rd|th|s)", part.lower())
    kind = Kind.WORD if plain else Kind.CODE
    yield Token(part, start, start + len(part), kind, re.sub(r"[-/'’]", "", part.lower()))


def _is_code(pieces: list[str]) -> bool:
    """PX-200 and COVID-19 are codes; 12-month, mid-2018 and 2018/19 are words and numbers with a stroke between them."""
    if all(piece.isdigit() for piece in pieces):
        return False
    return any(
        (any(c.isdigit() for c in piece) and any(c.isalpha() for c in piece)) or (piece.isalpha() and (piece.isupper() or len(piece) <= 2))
        for piece in pieces
    )


def _word(text: str, start: int) -> Token:
    bare = re.sub(r"['’]s?$", "", text) or text
    return Token(text, start, start + len(text), Kind.WORD, stem(bare.lower()))


def content_keys(text: str) -> list[str]:
    """Keys of all tokens that are not stop words, in order, with repetitions."""
    return [t.key for t in tokens(text) if not is_stop(t)]


def is_stop(token: Token) -> bool:
    return token.kind is Kind.WORD and (token.text.lower() in STOP_WORDS or (len(token.key) == 1 and not token.key.isdigit()))


def is_year(token: Token) -> bool:
    return token.kind is Kind.NUMBER and re.fullmatch(r"(?:1[89]|20|21)\d\d", token.key) is not None and "," not in token.text


def counted_as(surface: str, counts: dict[str, int]) -> int | None:
    """On how many pages a word stands, from counts by lexeme (a database's own stems); None if no lexeme is of this word.

    A lexeme belongs to a word when it is the word or begins it (`polici` for `policies` with its last letter changed).
    """
    word = surface.lower()
    best: tuple[int, int] | None = None
    for lexeme, pages in counts.items():
        root = lexeme[:-1] if lexeme.endswith("i") and len(lexeme) > 2 else lexeme
        if word == lexeme or (len(root) >= 2 and word.startswith(root) and len(word) - len(root) <= 5):
            best = max(best or (0, 0), (len(root) + (word == lexeme), pages))
    return best[1] if best else None
