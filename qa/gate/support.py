"""Whether quotes bear a claim out, by rules that a person can follow. No rule proves sense; each can show that something is made up.

    verbatim      the claim is its first quote, white space aside
    numbers       each number of the claim stands in a quote, and a number with a unit stands there with that unit
    months        each month that the claim names stands in a quote
    names         each name of the claim stands in a quote
    negation      a claim that denies rests on a quote that denies, and one that does not deny on one that does not
    markup        a link, a picture, a tag or a hidden character of the claim stands with all of the claim in a quote
    words         most of the claim's content words stand in its quotes
"""

from __future__ import annotations

from collections.abc import Sequence

from ingestion.domain.cleaning import inert
from qa.english.facts import Facts, facts_of
from qa.gate.checks import Check

LEAST_WORDS = 0.5  # share of the claim's content words that its quotes must hold


def supported(text: str, quotes: Sequence[str], verbatim: bool) -> list[Check]:
    """One check a rule; the claim is borne out when all have passed. A verbatim reader's claims are held to the first rule alone."""
    if verbatim:
        same = bool(quotes) and _flat(text) == _flat(quotes[0]) and bool(_flat(text))
        return [Check("verbatim", same)]
    claim, each = facts_of(text), [facts_of(quote) for quote in quotes]
    numbers = frozenset().union(*(q.numbers for q in each))
    quantities = frozenset().union(*(q.quantities for q in each))
    months = frozenset().union(*(q.months for q in each))
    words = frozenset().union(*(q.words for q in each))
    held = len(claim.words & words) / len(claim.words) if claim.words else 0.0
    return [
        Check("numbers", claim.numbers <= numbers and claim.quantities <= quantities),
        Check("months", claim.months <= months),
        Check("names", claim.names <= words),
        Check("markup", inert(text) == text or any(_flat(text) in _flat(quote) for quote in quotes)),
        Check("negation", _negation_kept(claim, each)),
        Check("words", held >= LEAST_WORDS, f"share={held:.2f}"),
    ]


def _negation_kept(claim: Facts, quotes: Sequence[Facts]) -> bool:
    """Judged on the quotes that share most words with the claim: another quote may deny something else."""
    if not quotes:
        return False
    shared = [len(claim.words & quote.words) for quote in quotes]
    nearest = [quote for quote, count in zip(quotes, shared, strict=True) if count == max(shared)]
    return any(quote.negated == claim.negated for quote in nearest)


def _flat(text: str) -> str:
    return " ".join(text.split())
