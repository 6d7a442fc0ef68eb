"""Cleaning text from outside BEFORE any offset into it is computed.

A page's text is stored in a database that refuses NUL, sent as JSON that has no lone surrogates, shown to people whom
direction overrides could mislead, and put before models whose placeholder tokens could crash or mislead them.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

PAGE_CHARACTERS = 200_000

# Ligatures and presentation forms are how a letter was drawn, not what was written. Other compatibility
# characters (superscripts, fractions, full-width forms) carry meaning and stay.
_DRAWN_FORMS = ((0xFB00, 0xFB06), (0xFB13, 0xFB17), (0xFB1D, 0xFDCF), (0xFDF0, 0xFDFF), (0xFE70, 0xFEFC), (0x2F00, 0x2FDF))
SPACES = frozenset("\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | {chr(c) for c in range(0x2000, 0x200B)}
_INVISIBLE = frozenset(
    [0xAD, 0x61C, 0x180E, 0xFEFF]  # soft hyphen, Arabic letter mark, Mongolian separator, byte order mark
    + [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)]  # zero width, direction, format
    + [*range(0xFFF9, 0xFFFC), *range(0xE0000, 0xE1000)]  # annotation marks; tags, variants of letters: unseen text
    + [*range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B)]  # controls of shorthand and of music
)
_TOKENS = re.compile(
    r"<(\|[^<>|\s]{1,60}\||/?(?:image|img|video|audio|vision|start_of_image|end_of_image|image_soft_token|img_context"
    r"|fake_token_around_image|global-img|image_pad|video_pad|row_\d+_col_\d+|bos|eos|s|pad|unk|tool_call|tool_response"
    r"|start_of_turn|end_of_turn))>",
    re.IGNORECASE,
)
_BRACKET_TOKENS = re.compile(r"\[(/?(?:IMG|IMG_BREAK|IMG_END|INST|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS))\]")

_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_MARKDOWN = re.compile(r"(\](?=[(\[:])|!(?=\[))")
_SCHEME = re.compile(
    r"(?<![A-Za-z0-9])([a-z][a-z0-9+.-]{1,30}(?=:\s*/\s*/)|javascript|vbscript|data(?=:[a-z]+/)|file(?=:/)|mailto|tel|sms):(?=\S)",
    re.IGNORECASE,
)
_BARE_HOST = re.compile(r"\b(www)\.(?=[^\s.])", re.IGNORECASE)


@lru_cache(maxsize=8192)
def clean_character(code: int) -> str:
    """What one code point of a document stands for: itself, its letters, a space, or nothing.

    Nothing stands for controls, lone surrogates, noncharacters, direction controls and other invisible marks.
    """
    character = chr(code) if 0 <= code <= 0x10FFFF else "\ufffd"
    if character in SPACES:
        return " "
    if code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code <= 0xDFFF or code in _INVISIBLE:
        return ""
    if code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF:
        return ""
    if any(first <= code <= last for first, last in _DRAWN_FORMS):
        return unicodedata.normalize("NFKC", character).strip()
    return character


def clean_word(word: str) -> str:
    """A word without what must not be stored; letters with their accents composed; model tokens made harmless."""
    if word.isascii() and word.isprintable():
        return without_tokens(word)
    cleaned = "".join(clean_character(ord(character)) for character in word)
    return without_tokens(unicodedata.normalize("NFC", cleaned))


def clean_line(text: str, limit: int) -> str:
    """One line of at most `limit` characters, white space collapsed."""
    return " ".join(clean_word(text[: 4 * limit]).split())[:limit].strip()


def without_tokens(text: str) -> str:
    """The text with the placeholder tokens of models made harmless: `<|image_pad|>` becomes `‹|image_pad|›`.

    The length does not change, and no token appears by the change.
    """
    if "<" in text:
        text = _TOKENS.sub("\u2039\\1\u203a", text)
    if "[" in text:
        text = _BRACKET_TOKENS.sub("(\\1)", text)
    return text


def inert(text: str) -> str:
    """The text, to be shown to people: nothing in it is a link, a picture or a tag for whatever program shows it.

    A page may say `![x](https://host/?q=...)`, and a program that draws Markdown would fetch it. Line breaks stay; controls and
    direction marks go; `https://` becomes `https[:]//`, `<b>` becomes `‹b>`, `](` becomes `] (`. Applied twice it does the same.
    """
    lines = ("".join(clean_character(ord(character)) for character in line) for line in text.split("\n"))
    text = without_tokens("\n".join(lines))
    text = _TAG.sub("\u2039", text)
    text = _MARKDOWN.sub("\\1 ", text)
    text = _SCHEME.sub("\\1[:]", text)
    return _BARE_HOST.sub("\\1[.]", text)


def is_meaningless(code: int) -> bool:
    """True for a code point that no reader could make sense of: replacement, private use, unassigned, control, surrogate."""
    if 0x20 <= code < 0x7F or code in (0x09, 0x0A, 0x0D):
        return False
    if code == 0xFFFD or code > 0x10FFFF:
        return True
    return unicodedata.category(chr(code)) in ("Co", "Cn", "Cs", "Cc")
