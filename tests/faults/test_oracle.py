"""The oracle works from what was sent alone: the highest revision wins, in whatever order things were sent."""

from __future__ import annotations

from docmemo_site.drill.generator import Access, Sent
from docmemo_site.drill.oracle import expectations

STAFF, NOBODY = Access(("staff",)), Access(())


def _sent(kind: str, revision: int, text: str = "", access: Access | None = None) -> Sent:
    pdf = text.encode() if text else None
    return Sent(f"{kind}-{revision}", f"document.{kind}", "a.pdf", revision, pdf, (text,) if text else (), access)


def _expected(*events: Sent):
    return expectations(events)["a.pdf"]


def test_the_highest_revision_wins_whenever_it_was_sent() -> None:
    found = _expected(_sent("created", 1, "one", STAFF), _sent("updated", 9, "nine", NOBODY), _sent("updated", 5, "five", STAFF))
    assert (found.pages, found.access, found.revision, found.deleted) == (("nine",), NOBODY, 9, False)


def test_a_list_changes_access_and_leaves_the_content() -> None:
    found = _expected(_sent("created", 1, "one", STAFF), _sent("access_changed", 2, access=NOBODY))
    assert (found.pages, found.access, found.revision) == (("one",), NOBODY, 2)


def test_a_deletion_ends_a_document_until_content_comes_again() -> None:
    life = [_sent("created", 1, "one", STAFF), _sent("deleted", 2)]
    assert (_expected(*life).deleted, _expected(*life).sha256) == (True, None)
    assert _expected(*life, _sent("access_changed", 3, access=STAFF)).deleted
    reborn = _expected(*life, _sent("created", 4, "four", NOBODY))
    assert (reborn.deleted, reborn.pages, reborn.access) == (False, ("four",), NOBODY)


def test_the_same_event_again_changes_nothing() -> None:
    first = _sent("created", 1, "one", STAFF)
    assert _expected(first, first) == _expected(first)
