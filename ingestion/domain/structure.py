"""Document Schema Memory, made without a model: document type, section of each page, page roles, structural priors.

The roles and the priors are our own defaults; the paper names structural page priors and gives no values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ingestion.domain.pages import Block, BlockKind, OutlineEntry

# role -> (prior in [0, 1], why). Never 0: questions do ask about covers, contents and reference lists.
PRIORS: dict[str, tuple[float, str]] = {
    "cover": (0.25, "a cover names the document and rarely answers"),
    "toc": (0.25, "a table of contents points to answers"),
    "front_matter": (0.35, "front matter rarely answers"),
    "body": (0.5, "body text"),
    "table_heavy": (0.6, "dense in tables"),
    "figure_heavy": (0.6, "dense in figures"),
    "appendix": (0.45, "an appendix"),
    "references": (0.25, "a list of references"),
    "index": (0.25, "an index"),
    "blank": (0.05, "nothing on the page"),
}

_TYPES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("annual_report", ("annual report", "10-k", "fiscal year", "shareholders", "balance sheet")),
    ("contract", ("agreement", "hereinafter", "party", "termination", "governing law")),
    ("academic_paper", ("abstract", "references", "related work", "we propose", "experiments", "et al")),
    ("manual", ("manual", "installation", "troubleshooting", "warning", "maintenance", "operating")),
    ("policy", ("policy", "employees", "approval", "shall", "compliance", "handbook")),
    ("certificate", ("certificate", "inspection", "certify", "delivery note")),
    ("invoice", ("invoice", "amount due", "vat", "bill to")),
    ("survey_report", ("survey", "respondents", "percent", "adults", "poll")),
    ("presentation", ("agenda", "thank you", "overview", "slide")),
)
_LEADER = re.compile(r"(?:\.\s?){4,}\s*\w+\s*$|…+\s*\d+\s*$", re.MULTILINE)
_ENDS_IN_NUMBER = re.compile(r"\S.*\s\d{1,4}\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PageOutline:
    """A page for describing: its text, its blocks, whether its picture is blank."""

    number: int
    label: str
    text: str
    blocks: Sequence[Block]
    blank: bool


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What the schema memory holds of one page."""

    number: int
    role: str
    prior: float
    reason: str
    section: tuple[str, ...]  # titles from the top down
    headings: tuple[str, ...]
    captions: tuple[tuple[str, int, int], ...]  # (label, start, end in the page's text)


def document_type(texts: Iterable[str]) -> str:
    """The type whose typical words occur most on the first pages; `document` where none is clear."""
    sample = " ".join(text.lower() for text in texts)[:20_000]
    scores = [(sum(min(sample.count(word), 3) for word in words), name) for name, words in _TYPES]
    best, name = max(scores, key=lambda scored: scored[0])
    return name if best >= 4 else "document"


def role_of(page: PageOutline, page_count: int) -> str:
    """The page's role, from its own words and blocks alone."""
    text = page.text.strip()
    if not text:
        return "blank" if page.blank else "figure_heavy"
    head = text[:300].lower()
    lines = [line for line in text.splitlines() if line.strip()]
    words = len(text.split())
    numbered = len(_LEADER.findall(text)) * 2 + len(_ENDS_IN_NUMBER.findall(text))
    if page.number <= max(15, page_count // 6) and (
        re.search(r"\b(table of contents|contents|list of (figures|tables))\b", head) or len(_LEADER.findall(text)) >= 5
    ):
        return "toc"
    if page.number == 1 and words < 120 and page_count > 2:
        return "cover"
    if page.number > page_count * 0.4 and re.match(r"\W*(references|bibliography|works cited|literature)\b", head):
        return "references"
    if page.number > page_count * 0.6 and re.match(r"\W*index\b", head) and numbered > len(lines) / 3:
        return "index"
    if re.match(r"\W*(appendix|annex)\b", head):
        return "appendix"
    if re.fullmatch(r"[ivxlc]+", page.label.lower()) and page.number < page_count / 3:
        return "front_matter"
    return _dense_role(page)


def _dense_role(page: PageOutline) -> str:
    area = {BlockKind.TABLE: 0.0, BlockKind.FIGURE: 0.0}
    for block in page.blocks:
        if block.kind in area:
            area[block.kind] += (block.box[2] - block.box[0]) * (block.box[3] - block.box[1])
    if area[BlockKind.TABLE] >= 0.2:
        return "table_heavy"
    if area[BlockKind.FIGURE] >= 0.25:
        return "figure_heavy"
    return "body"


def describe_pages(pages: Sequence[PageOutline], outline: Sequence[OutlineEntry]) -> list[PageFacts]:
    """Facts of each page. Sections come from the outline where there is one, else from the headings as they pass by."""
    count = len(pages)
    path: list[tuple[int, str]] = []
    by_page: dict[int, list[OutlineEntry]] = {}
    for entry in outline:
        by_page.setdefault(entry.page, []).append(entry)
    facts = []
    for page in pages:
        headings = [
            (max(1, b.level), " ".join(page.text[b.start : b.end].split())[:200])
            for b in page.blocks
            if b.kind is BlockKind.HEADING
        ]
        opening = [(entry.level, entry.title[:200]) for entry in by_page.get(page.number, ())] if by_page else headings
        for level, title in opening:
            path = [step for step in path if step[0] < level] + [(level, title)]
        role = role_of(page, count)
        prior, reason = PRIORS[role]
        captions = tuple((b.label, b.start, b.end) for b in page.blocks if b.kind is BlockKind.CAPTION and b.label)
        facts.append(
            PageFacts(
                number=page.number,
                role=role,
                prior=prior,
                reason=reason,
                section=tuple(title for _, title in path),
                headings=tuple(title for _, title in headings),
                captions=captions,
            )
        )
    return facts
