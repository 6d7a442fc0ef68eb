"""What a statement asserts that can be checked letter by letter: numbers with their units, dates, names, negation."""

from __future__ import annotations

import re
from dataclasses import dataclass

from qa.english.words import Kind, Token, is_stop, stem, tokens

NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen "
        "twenty".split()
    )
}
MONTHS = {
    name: index
    for index, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug", "september sep sept",
         "october oct", "november nov", "december dec"), start=1)
    for name in names.split()
}  # fmt: skip
_UNIT_SIGNS = {"%": "percent", "€": "eur", "$": "usd", "£": "gbp", "°": "degree"}
_UNIT_WORDS = {
    "percent": "percent", "pct": "percent", "euro": "eur", "eur": "eur", "dollar": "usd", "usd": "usd", "pound": "gbp", "gbp": "gbp",
    "million": "million", "mn": "million", "m": "m", "billion": "billion", "bn": "billion", "thousand": "thousand", "k": "thousand",
    "kg": "kg", "kilogram": "kg", "g": "g", "gram": "g", "km": "km", "kilometr": "km", "kilomet": "km", "metr": "m", "meter": "m",
    "cm": "cm", "mm": "mm",
    "day": "day", "week": "week", "month": "month", "year": "year", "hour": "hour", "hr": "hour", "h": "hour", "minut": "minute",
    "min": "minute", "second": "second", "bar": "bar", "psi": "psi", "kw": "kw", "mw": "mw", "kwh": "kwh", "v": "v", "volt": "v",
    "degre": "degree", "c": "c", "celsiu": "c", "gb": "gb", "mb": "mb", "litr": "l", "liter": "l", "l": "l",
}  # fmt: skip
_NEGATION = re.compile(r"\b(?:no|not|never|none|neither|nor|without|cannot|nobody|nothing|\w+n['’]t)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Facts:
    """`quantities` are (number, unit) with unit empty where none follows; `months` of written dates; `names` as stems."""

    numbers: frozenset[str]
    quantities: frozenset[tuple[str, str]]
    months: frozenset[int]
    names: frozenset[str]
    words: frozenset[str]
    negated: bool


def facts_of(text: str) -> Facts:
    """The checkable facts of a text."""
    found = list(tokens(text))
    numbers: set[str] = set()
    quantities: set[tuple[str, str]] = set()
    for index, token in enumerate(found):
        value = _value(token)
        if value is not None:
            numbers.add(value)
            following = found[index + 1] if index + 1 < len(found) else None
            for unit in _units(text, token, following):
                quantities.add((value, unit))
    months = {MONTHS[t.text.lower()] for t in found if t.text.lower() in MONTHS and (t.text.lower() != "may" or t.capitalised)}
    return Facts(
        numbers=frozenset(numbers),
        quantities=frozenset(quantities),
        months=frozenset(months),
        names=frozenset(t.key for t in found if _is_name(t, found, text)),
        words=frozenset(t.key for t in found if not is_stop(t)),
        negated=bool(_NEGATION.search(text)),
    )


def _value(token: Token) -> str | None:
    if token.kind is Kind.NUMBER or token.kind is Kind.CODE:
        return token.key
    return NUMBER_WORDS.get(token.text.lower())


def _units(text: str, token: Token, following: Token | None) -> list[str]:
    units = []
    before, after = text[max(token.start - 2, 0) : token.start].strip(), text[token.end : token.end + 2].strip()
    units += [_UNIT_SIGNS[c] for c in before[-1:] + after[:1] if c in _UNIT_SIGNS]
    if following is not None and following.start - token.end <= 2:
        unit = _UNIT_WORDS.get(stem(following.text.lower()))
        units += [unit] if unit else []
    return units


def _is_name(token: Token, found: list[Token], text: str) -> bool:
    """A capitalised word inside a sentence, or an acronym; the first word of a sentence may be any word."""
    if token.kind is not Kind.WORD or not token.capitalised or token.text.lower() in MONTHS or is_stop(token):
        return False
    if len(token.text) > 1 and token.text.isupper():
        return True
    return not (token is found[0] or re.search(r"[.?!:;•]['\"”)]?\s+$", text[: token.start]))
