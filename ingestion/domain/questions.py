"""What of a question is worth searching for."""

from __future__ import annotations

import re

# Sentences that say how to write the answer, not what to look for.
_FORMAT = re.compile(
    r"(?:^|(?<=[.?!])\s+)(?:please|kindly)?\s*(?:write|give|provide|answer|list|format|express|enumerate|report|round|return)\b[^.?!]*"
    r"\b(?:format|list|order|decimal|decimals|places|integer|float|percent|percentage|sentence|words?|alphabetical\w*|ascending|descending)\b"
    r"[^?!]*$",
    re.IGNORECASE,
)
_PAGE = re.compile(r"\b(?:page|slide|p\.)\s*(?:number\s*|no\.?\s*)?(\d{1,4}|[ivxlc]{1,7})\b", re.IGNORECASE)
_CAPTION = re.compile(r"\b(figure|fig\.?|table|chart|exhibit)\s*(\d+(?:\.\d+)*|[ivx]+)\b", re.IGNORECASE)
_CAPTION_WORDS = {"fig": "figure", "fig.": "figure"}


def search_text(question: str) -> str:
    """The question without closing sentences about the answer's format; never empty for a question that is not."""
    cleaned = _FORMAT.sub("", question).strip()
    return cleaned if len(cleaned) >= 10 else question.strip()


def named_pages(question: str) -> frozenset[str]:
    """Page numbers and printed labels that the question names, lower case."""
    return frozenset(match.group(1).lower() for match in _PAGE.finditer(question))


def named_captions(question: str) -> frozenset[str]:
    """Labels of figures and tables that the question names, such as `figure 3`."""
    found = ((m.group(1).lower(), m.group(2).lower()) for m in _CAPTION.finditer(question))
    return frozenset(f"{_CAPTION_WORDS.get(kind, kind)} {number}" for kind, number in found)


def caption_label(label: str) -> str:
    """A stored caption label in the form that `named_captions` gives."""
    match = _CAPTION.search(label)
    if not match:
        return label.strip().lower()
    kind = match.group(1).lower()
    return f"{_CAPTION_WORDS.get(kind, kind)} {match.group(2).lower()}"
