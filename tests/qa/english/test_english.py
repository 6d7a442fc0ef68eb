"""Words, spans and questions, by rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.domain.pages import Block, BlockKind
from qa.english.facts import facts_of
from qa.english.questions import Expects, TermKind, ask, parts_of
from qa.english.spans import MAX_SPAN, SpanKind, spans_of
from qa.english.words import content_keys, counted_as, tokens

FULL = (0.0, 0.0, 1.0, 1.0)


@given(st.text(max_size=200))
def test_tokens_are_ranges_of_the_text_in_order(text: str) -> None:
    at = 0
    for token in tokens(text):
        assert text[token.start : token.end] == token.text and token.start >= at and token.key
        at = token.end


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("policies", "policy"), ("refunded", "refunds"), ("employees", "employee's"), ("1,000", "1000.0"), ("PX-200", "px200"),
        ("12-month", "12 month"), ("FY2022", "FY 2022"), ("FY22", "FY2022"), ("5kg", "5 kg"), ("boxes", "box"), ("pumping", "pump"),
    ],
)  # fmt: skip
def test_two_spellings_meet(one: str, other: str) -> None:
    assert content_keys(one) == content_keys(other)


@pytest.mark.parametrize(("one", "other"), [("PX-200", "PX-300"), ("2022", "2023"), ("1.5", "15"), ("status", "statue")])
def test_different_things_do_not_meet(one: str, other: str) -> None:
    assert content_keys(one) != content_keys(other)


def test_counts_by_lexeme_find_their_word() -> None:
    counts = {"polici": 4, "warranti": 2, "px": 1, "the": 9}
    assert counted_as("policies", counts) == 4 and counted_as("Warranty", counts) == 2 and counted_as("pump", counts) is None


def terms(question: str) -> dict[str, TermKind]:
    return {term.surface: term.kind for term in ask(question).terms}


def test_names_codes_and_years_are_told_from_words() -> None:
    found = terms("What did Norvik pay for the PX-200 in 2023 according to the report?")
    assert found == {
        "Norvik": TermKind.NAME, "pay": TermKind.WORD, "PX-200": TermKind.CODE, "2023": TermKind.YEAR, "according": TermKind.GENERIC,
        "report": TermKind.GENERIC,
    }  # fmt: skip
    assert TermKind.NAME not in terms("WHAT IS THE LAST YEAR OF THE TABLE").values()


@pytest.mark.parametrize(
    ("question", "expects"),
    [
        ("How many days of leave are there?", Expects.NUMBER),
        ("What is the maximum operating temperature?", Expects.NUMBER),
        ("When did the plant open?", Expects.DATE),
        ("In which year was it founded?", Expects.DATE),
        ("Who signed the contract?", Expects.PERSON),
        ("Is smoking allowed?", Expects.YES_NO),
        ("What must be worn in the hall?", Expects.TEXT),
        ("What is the difference between A and B?", Expects.DERIVED),
        ("How many more people came?", Expects.DERIVED),
        ("What is the right to cancel?", Expects.TEXT),
    ],
)
def test_the_expected_answer(question: str, expects: Expects) -> None:
    assert ask(question).expects is expects


def test_sentences_about_the_answers_format_are_not_asked_about() -> None:
    assert "format" not in terms("Which plants are named? Please write the answer in list format.")


def test_a_question_of_two_parts() -> None:
    assert parts_of("How long is the warranty and who signs it?") == ("How long is the warranty", "who signs it?")
    assert len(parts_of("How long do salt and pepper last?")) == 1


@given(st.text(alphabet="abc XY.?!\n•-1234567890", max_size=600))
def test_spans_are_ranges_within_bounds_and_do_not_overlap(text: str) -> None:
    at = 0
    for span in spans_of(text, ()):
        piece = text[span.start : span.end]
        assert span.start >= at and piece == piece.strip() and piece and len(piece) <= MAX_SPAN + 1
        at = span.end


def test_abbreviations_do_not_end_sentences() -> None:
    text = "Dr. Berg of Norvik Inc. signed it. See Fig. 3 for approx. 20 parts."
    assert [text[s.start : s.end] for s in spans_of(text, ())] == [
        "Dr. Berg of Norvik Inc. signed it.",
        "See Fig. 3 for approx. 20 parts.",
    ]


def test_rows_know_their_header_and_their_group() -> None:
    text = "Prices\nItem 2022 2023\nPumps\nPX-200 10 12\nPX-300 20 22"
    start = text.index("Item")
    blocks = (Block(BlockKind.HEADING, 0, 6, FULL, 1), Block(BlockKind.TABLE, start, len(text), FULL, label="Table 1"))
    row = spans_of(text, blocks)[-1]
    assert text[row.start : row.end] == "PX-300 20 22" and row.kind is SpanKind.ROW
    assert text[slice(*row.header)] == "Item 2022 2023"
    assert row.context == "Prices Table 1 Item 2022 2023 Pumps"


def test_running_heads_are_not_quoted() -> None:
    text = "Norvik handbook\nPumps last long."
    blocks = (Block(BlockKind.FURNITURE, 0, 15, FULL), Block(BlockKind.PARAGRAPH, 16, len(text), FULL))
    assert [text[s.start : s.end] for s in spans_of(text, blocks)] == ["Pumps last long."]


def test_facts_of_a_statement() -> None:
    facts = facts_of("Norvik does not pay more than $1,200 or 5 % by 3 May 2024.")
    assert {"1200", "5", "3", "2024"} == set(facts.numbers)
    assert ("1200", "usd") in facts.quantities and ("5", "percent") in facts.quantities
    assert facts.months == {5} and facts.negated
    assert not facts_of("It may pay.").months and not facts_of("It may pay.").negated
