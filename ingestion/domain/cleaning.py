"""Cleaning text from outside before it is stored: what would break the database, JSON, a display or a model goes."""

from __future__ import annotations

import re
import unicodedata

MAX_PAGE_CHARACTERS = 200_000

# NUL and other controls (tab and newline stay), lone surrogates, noncharacters, bidi controls, soft hyphen, byte order mark
_UNWANTED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufdd0-\ufdef\ufeff\ufffe\uffff\ud800-\udfff]"
)
# placeholders that make a vision model believe in a picture
_PLACEHOLDER = re.compile(r"<\|[a-z0-9_]{1,40}\|>|<(?:image|img|video|audio)(?:_pad|_start|_end)?>", re.IGNORECASE)


def is_unwanted(character: str) -> bool:
    """True for a character that must not be stored."""
    code = ord(character)
    return bool(_UNWANTED.match(character)) or (code & 0xFFFF) >= 0xFFFE


def clean_text(text: str) -> str:
    """The text without characters that must not be stored and without placeholder tokens; line breaks stay."""
    text = "".join(c for c in text if not is_unwanted(c))
    return _PLACEHOLDER.sub(" ", text)


def clean_line(text: str, limit: int) -> str:
    """One line of at most `limit` characters, cleaned."""
    return " ".join(clean_text(text).split())[:limit]


def placeholder_ranges(text: str) -> list[tuple[int, int]]:
    """Where placeholder tokens stand."""
    return [match.span() for match in _PLACEHOLDER.finditer(text)]


# letters, digits and signs mixed as they are when a font maps its glyphs to the wrong characters
_SCRAMBLED = re.compile(r"(?=\S*[\[\]\\^%&$#\"+<>{}|~`;:=@*!?'()])(?=\S*[A-Za-z0-9])\S{4,}")
_ORDINARY = re.compile(r"^[\"'(\[{<]*[\w.,:;/@&%$€£+=#*'’–—-]+[\"')\]}>.,:;!?%*]*$")


def garbage_share(text: str) -> float:
    """Share of the text that no reader could make sense of: characters of private use, unassigned or replaced, and words in which
    signs stand where letters should."""
    visible = [c for c in text if not c.isspace()]
    if not visible:
        return 0.0
    bad = sum(c == "\ufffd" or unicodedata.category(c) in ("Co", "Cn", "Cs", "Cc") for c in visible)
    scrambled = sum(len(w) for w in text.split() if _SCRAMBLED.fullmatch(w) and not _ORDINARY.match(w))
    return max(bad, scrambled) / len(visible)
