"""From placed words to text and blocks: offsets, lines, headings, tables, captions, running heads."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ingestion.domain.pages import BlockKind
from ingestion.seams.parser.blocks import blocks_of, body_size, repeated_margins
from ingestion.seams.parser.layout import Composed, compose
from ingestion.seams.parser.ocr import _pieces, _turned_back
from ingestion.seams.parser.placed import Placed

RATIO = 792 / 612


def _line(number: int, top: float, text: str, size: float = 10, bold: bool = False, left: float = 0.1) -> list[Placed]:
    """Words of a line; "|" moves on to the next cell."""
    words, x = [], left
    for token in text.split(" "):
        if token == "|":
            x = (int(x / 0.2) + 1) * 0.2
            continue
        width = len(token) * size * 0.5 / 612
        words.append(Placed(token, (x, top, x + width, top + size / 792), number, size, bold=bold))
        x += width + size * 0.25 / 612
    return words


def _page(*lines: tuple) -> Composed:
    return compose([word for number, line in enumerate(lines) for word in _line(number, *line)], RATIO)


@given(st.lists(st.tuples(st.text(alphabet="ab\u00e9\u65e5", min_size=0, max_size=5), st.integers(0, 3), st.booleans()), max_size=30))
def test_every_word_stands_where_its_range_says(words: list[tuple[str, int, bool]]) -> None:
    in_lines = sorted(words, key=lambda word: word[1])
    placed = [Placed(text, (0.1, 0.1, 0.2, 0.12), line, 10, glued=glued) for text, line, glued in in_lines]
    composed = compose(placed, RATIO)
    assert [composed.text[w.start : w.end] for w in composed.words] == [p.text for p in placed if p.text]
    assert [composed.text[line.start : line.end] for line in composed.lines] == (composed.text.split("\n") if composed.text else [])


def test_structure_of_a_page() -> None:
    page = _page(
        (0.03, "Annual report 2024", 8),
        (0.10, "3.2 Scope of supply", 14, True),
        (0.14, "The pump is delivered with its motor and its frame, ready for"),
        (0.155, "mounting on the foundation that the customer has prepared."),
        (0.19, "\u2022 one pump of the type A 10"),
        (0.205, "\u2022 one motor"),
        (0.25, "Model | Weight | Power"),
        (0.27, "A 10 | 120 | 7.5"),
        (0.29, "B 20 | 240 | 15"),
        (0.33, "Table 2: Data of the models", 9),
        (0.96, "17", 8),
    )
    blocks = blocks_of(page.text, page.lines, body_size([page.lines]))
    kinds = [(b.kind, page.text[b.start : b.end].split("\n")[0]) for b in blocks]
    assert kinds == [
        (BlockKind.FURNITURE, "Annual report 2024"),
        (BlockKind.HEADING, "3.2 Scope of supply"),
        (BlockKind.PARAGRAPH, "The pump is delivered with its motor and its frame, ready for"),
        (BlockKind.LIST, "\u2022 one pump of the type A 10"),
        (BlockKind.TABLE, "Model Weight Power"),
        (BlockKind.CAPTION, "Table 2: Data of the models"),
        (BlockKind.FURNITURE, "17"),
    ]
    assert blocks[1].level == 2
    assert blocks[4].label == blocks[5].label == "Table 2"


def test_bold_lines_are_headings_numbered_or_not() -> None:
    page = _page(
        (0.1, "4.1 Main Results", 10, True), (0.14, "The text goes on in plain letters for a while."),
        (0.2, "1. Introduction", 10, True), (0.24, "More of the text, in plain letters again."),
        (0.3, "- a bold point", 10, True),
    )  # fmt: skip
    kinds = [(b.kind, b.level) for b in blocks_of(page.text, page.lines, 10)]
    assert kinds == [
        (BlockKind.HEADING, 2), (BlockKind.PARAGRAPH, 0), (BlockKind.HEADING, 1), (BlockKind.PARAGRAPH, 0), (BlockKind.LIST, 0),
    ]  # fmt: skip


def test_a_sentence_that_breaks_before_a_table_is_no_caption() -> None:
    page = _page((0.3, "All values of the last year are listed again in"), (0.315, "Table 2 below, with those of the year before."))
    assert [b.kind for b in blocks_of(page.text, page.lines, 10)] == [BlockKind.PARAGRAPH]


def test_a_figure_takes_its_caption_and_a_table_is_none() -> None:
    page = _page((0.6, "Figure 3. Flow of the process", 9), (0.7, "Text that follows on the figure above it."))
    figure, table_ground = (0.1, 0.3, 0.9, 0.58), (0.1, 0.05, 0.9, 0.2)
    blocks = blocks_of(page.text, page.lines, 10, images=[figure, table_ground])
    assert [(b.label, b.box) for b in blocks if b.kind is BlockKind.FIGURE] == [("Figure 3", figure), ("", table_ground)]


def test_columns_of_prose_are_no_table() -> None:
    long = "and this goes on over the whole column until the very end of it as prose does"
    lines = [(0.2 + 0.02 * n, f"{long}") for n in range(4)]
    words = []
    for number, (top, text) in enumerate(lines):
        words += _line(number, top, text, 4, left=0.05) + _line(number, top, text, 4, left=0.55)
    page = compose(words, RATIO)
    assert {b.kind for b in blocks_of(page.text, page.lines, 4)} == {BlockKind.PARAGRAPH}


def test_running_heads_come_again() -> None:
    pages = [_page((0.07, f"Handbook, page {n}"), (0.3, "A page of text."), (0.5, "More of it.")) for n in range(1, 5)]
    repeated = repeated_margins([(page.text, page.lines) for page in pages])
    assert repeated == {"handbook, page #"}
    assert blocks_of(pages[0].text, pages[0].lines, 10, repeated)[0].kind is BlockKind.FURNITURE


def test_letters_of_han_stand_alone_and_words_together() -> None:
    assert [("\u7b2c\u4e00 ab c"[s:e], glued) for s, e, glued in _pieces("\u7b2c\u4e00 ab c")] == [
        ("\u7b2c", False), ("\u4e00", True), ("ab", False), ("c", False),
    ]  # fmt: skip


def test_a_box_of_a_turned_picture_turns_back() -> None:
    box = (0.1, 0.2, 0.4, 0.3)
    turned = (box[1], 1 - box[2], box[3], 1 - box[0])  # by a quarter counter-clockwise
    assert all(abs(a - b) < 1e-9 for a, b in zip(_turned_back(turned, 1), box, strict=True))
    for quarter in range(4):
        there_and_back = _turned_back(_turned_back(box, quarter), (4 - quarter) % 4)
        assert all(abs(a - b) < 1e-9 for a, b in zip(there_and_back, box, strict=True))
