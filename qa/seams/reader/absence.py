"""When it is proven that the documents do not speak of something: a decisive term of the question stands on no visible page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from ingestion.domain.evidence import PageView
from qa.english.questions import Asked, Term, TermKind
from qa.english.words import tokens

NEARLY = 0.84  # likeness of two spellings of one name


def spellings(term: Term) -> tuple[str, ...]:
    """The forms under which a decisive term may stand in a document; each is counted."""
    bare = _bare(term)
    if term.kind is TermKind.YEAR:
        year, short = int(bare), f"{int(bare) % 100:02d}"
        after, before = f"{(year + 1) % 100:02d}", str(year - 1)
        spans = (f"{bare}/{after}", f"{bare}/{year + 1}", f"{before}/{short}", f"{before}/{bare}", f"{before}-{short}")
        return (bare, f"FY{short}", f"FY{bare}", f"CY{bare}", f"{bare}s", f"{bare}E", f"{bare}A", *spans)
    if term.kind is TermKind.CODE:
        parts = re.findall(r"[A-Za-z]+|\d+", bare)
        return tuple(dict.fromkeys((bare, "".join(parts), "-".join(parts), " ".join(parts), "/".join(parts), ".".join(parts))))
    return tuple(dict.fromkeys((bare, bare.lower(), bare.upper(), f"{bare}s", bare.rstrip("s") or bare)))


def decisive_terms(asked: Asked) -> tuple[Term, ...]:
    """Names, codes and years of the question, where they are decisive.

    An abbreviation is not: a document may spell it out. Nor are the names of a question Written With Capitals All Through.
    """
    words = [t for t in asked.terms if t.kind in (TermKind.WORD, TermKind.NAME)]
    names = [t for t in words if t.kind is TermKind.NAME]
    shouting = len(words) >= 4 and len(names) > 0.6 * len(words)
    kinds = (TermKind.CODE, TermKind.YEAR) if shouting else (TermKind.CODE, TermKind.YEAR, TermKind.NAME)
    return tuple(t for t in asked.terms if t.kind in kinds and not (t.kind is TermKind.NAME and _abbreviation(_bare(t))))


def absent_terms(
    asked: Asked, counts: Mapping[str, int], pages: Sequence[PageView], unreadable_pages: int
) -> dict[str, dict[str, int]]:
    """Decisive terms that stand on no visible page, each with the counted forms; empty when a page could not be read or counts lack.

    A term that was never counted, in whatever spelling, is not absent. Neither is one that the text of a page in hand or its
    document's title holds, be it inside a longer word; nor a name that is nearly a word of such a page, since the asker may have
    misspelt it.
    """
    if unreadable_pages or not counts:
        return {}
    lexemes = {lexeme.lower(): pages_with for lexeme, pages_with in counts.items()}
    in_hand = [_squeezed(f"{page.text} {page.document_title} {page.external_id} {page.section}") for page in pages]
    words = {t.text.lower() for page in pages for t in tokens(page.text) if len(t.text) > 3}
    absent = {}
    for term in decisive_terms(asked):
        forms = _counted_forms(term, lexemes)
        squeezed = _squeezed(_bare(term))
        if not forms or any(forms.values()) or any(squeezed in text for text in in_hand):
            continue
        if term.kind is not TermKind.NAME or not get_close_matches(squeezed, words, 1, NEARLY):
            absent[term.surface] = forms
    return absent


def _counted_forms(term: Term, lexemes: Mapping[str, int]) -> dict[str, int]:
    """The counted lexemes that stand for the term: of all of them one must stand on a page that holds it.

    A code that a database splits at its hyphen (`px`, `-200`) stands on no page that lacks one of its pieces.
    """
    whole = {spelling.lower() for spelling in spellings(term) if " " not in spelling}
    forms = {lexeme: pages for lexeme, pages in lexemes.items() if lexeme in whole}
    if term.kind is TermKind.NAME:
        return forms | {lexeme: pages for lexeme, pages in lexemes.items() if any(_stems(lexeme, form) for form in whole)}
    if term.kind is TermKind.CODE:
        pieces = re.findall(r"[a-z]+|\d+", _bare(term).lower())
        counted = [{lexeme: lexemes[lexeme] for lexeme in (piece, f"-{piece}") if lexeme in lexemes} for piece in pieces]
        lacking = [found for found in counted if found and not any(found.values())]
        if len(pieces) > 1 and not lacking:  # every piece stands somewhere, so the code may stand there in pieces
            return {}
        forms |= {lexeme: 0 for found in lacking for lexeme in found}
    return forms


def _stems(lexeme: str, form: str) -> bool:
    root = lexeme[:-1] if lexeme.endswith("i") and len(lexeme) > 2 else lexeme
    return len(root) > 2 and form.startswith(root) and len(form) - len(root) <= 5


def _bare(term: Term) -> str:
    return term.key if term.kind is TermKind.YEAR else re.sub(r"['’]s?$", "", term.surface) or term.surface


def _abbreviation(text: str) -> bool:
    return len(text) < 4 or sum(c.isupper() or not c.isalpha() for c in text) > 1 and len(text) <= 6 or text.isupper()


def _squeezed(text: str) -> str:
    """Letters and digits only, lower case: hyphens, line breaks and spaces cannot hide a word."""
    return re.sub(r"[\W_]+", "", text.lower())
