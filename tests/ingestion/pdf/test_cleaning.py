"""What is stored of a document's text is harmless, and what was meant stays."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.domain.cleaning import clean_line, clean_word, without_tokens


@given(st.text(alphabet=st.characters(), max_size=60) | st.lists(st.integers(0, 0x10FFFF), max_size=20).map(lambda c: "".join(map(chr, c))))
def test_nothing_that_cannot_be_stored_gets_through(word: str) -> None:
    cleaned = clean_word(word)
    assert cleaned == clean_word(cleaned)
    assert not any(unicodedata.category(c) in ("Cc", "Cs") or ord(c) & 0xFFFE == 0xFFFE for c in cleaned)
    assert not any(unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI") for c in cleaned)
    assert json.loads(json.dumps(cleaned).encode()) == cleaned


@pytest.mark.parametrize(
    ("word", "cleaned"),
    [
        ("of\ufb01ce", "office"),
        ("A\x00B\ud800C\uffffD\u202eE", "ABCDE"),
        ("m\u00b2", "m\u00b2"),
        ("\u00bd", "\u00bd"),
        ("e\u0301t\u00e9", "\u00e9t\u00e9"),
        ("\ufefb", "\u0644\u0627"),
        ("\u65e5\u672c", "\u65e5\u672c"),
        ("<|image_pad|>", "\u2039|image_pad|\u203a"),
        ("a<image>b</image>", "a\u2039image\u203ab\u2039/image\u203a"),
        ("[IMG]", "(IMG)"),
        ("x<y>z", "x<y>z"),
        ("List<String>", "List<String>"),
    ],
)
def test_what_is_meant_stays(word: str, cleaned: str) -> None:
    assert clean_word(word) == cleaned


@given(st.text(alphabet="<|>imagepd_[]IMG/ ", max_size=40))
def test_no_token_is_left_and_no_place_moves(text: str) -> None:
    harmless = without_tokens(text)
    assert len(harmless) == len(text) and without_tokens(harmless) == harmless
    assert "<|image_pad|>" not in harmless and "<image>" not in harmless.lower()


def test_a_line_is_one_line_of_bounded_length() -> None:
    assert clean_line("  a\n\tb\x00 c ", 10) == "a b c"
    assert len(clean_line("x" * 10_000, 50)) == 50
