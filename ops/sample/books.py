"""Turning a plan of chapters and sections into pages, and remembering where each fact came to stand."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from facts import Facts
from layout import Book, Bullets, Part, Ruled
from prose import plain_number, prose
from topics import Topic


@dataclass(frozen=True)
class Section:
    """One page: `parts` stand on it for certain, prose fills it up. `fact` names what is to be found there."""

    title: str
    parts: Sequence[Part] = ()
    fact: str = ""


@dataclass
class Made:
    """A finished document: its facts by name with physical page, printed label, and the last table and figure up to there."""

    title: str
    pages: int = 0
    places: dict[str, int] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    tables: dict[str, int] = field(default_factory=dict)
    figures: dict[str, int] = field(default_factory=dict)

    def note(self, fact: str, book: Book) -> None:
        if fact:
            self.places[fact], self.labels[fact] = book.number, book.label
            self.tables[fact], self.figures[fact] = book.tables, book.figures


Planted = Mapping[str, Sequence[Section]]  # topic -> sections that stand in its chapter


def chapters_of(facts: Facts, topics: Sequence[Topic], planted: Planted, header: Sequence[str], rng: random.Random) -> list[list[Section]]:
    """Three sections for each topic; the planted ones take a place that the seed chooses."""
    chapters = []
    for topic in topics:
        own = list(planted.get(topic.name, ()))
        titles = [thing[0].upper() + thing[1:] for thing in rng.sample(topic.things, 4)]
        sections = [Section(title, _extras(facts, topic, title, header, rng)) for title in titles[: 3 - len(own)]]
        for section in own:
            sections.insert(rng.randrange(len(sections) + 1), section)
        chapters.append(sections)
    return chapters


def _extras(facts: Facts, topic: Topic, title: str, header: Sequence[str], rng: random.Random) -> list[Part]:
    """Nothing, a list or a small table, by lot."""
    lot = rng.random()
    if lot < 0.3:
        return [f"In connection with {title.lower()} one may:", Bullets([f"{act}, as agreed with {topic.who};" for act in topic.acts])]
    if lot < 0.55:
        rows = [[thing[0].upper() + thing[1:], str(plain_number(rng, facts)), str(plain_number(rng, facts))] for thing in topic.things]
        return [Ruled(f"{topic.name}: what is counted", [list(header), *rows])]
    return []


def write_chapters(book: Book, made: Made, facts: Facts, kind: str, topics: Sequence[Topic], chapters: Sequence[Sequence[Section]]) -> None:
    for number, (topic, sections) in enumerate(zip(topics, chapters, strict=True), start=1):
        filler = prose(facts, kind, topic, book.title)
        rng = facts.rng(f"{book.title}-{topic.name}")
        for step, section in enumerate(sections, start=1):
            book.page(
                f"{number}.{step} {section.title}", section.parts, filler, chapter=f"{number} {topic.name}" if step == 1 else "",
                full=rng.uniform(0.72, 0.97), before=rng.randrange(1, 4),
            )  # fmt: skip
            made.note(section.fact, book)


def contents_of(topics: Sequence[Topic], chapters: Sequence[Sequence[Section]], first_label: int) -> list[tuple[int, str, str]]:
    """Entries of the table of contents, each page being one section."""
    entries, label = [], first_label
    for number, (topic, sections) in enumerate(zip(topics, chapters, strict=True), start=1):
        entries.append((0, f"{number} {topic.name}", str(label)))
        for step, section in enumerate(sections, start=1):
            entries.append((1, f"{number}.{step} {section.title}", str(label)))
            label += 1
    return entries


def write_sections(book: Book, made: Made, facts: Facts, topics: Sequence[Topic], planted: Planted) -> None:
    """A short document: one page a topic, with what is planted there."""
    for number, topic in enumerate(topics, start=1):
        own = planted.get(topic.name, ())
        rng = facts.rng(f"{book.title}-{topic.name}")
        parts = [part for section in own for part in section.parts]
        book.page(
            f"{number}. {topic.name}", parts, prose(facts, "short", topic, book.title),
            full=rng.uniform(0.62, 0.9), before=rng.randrange(1, 3),
        )  # fmt: skip
        for section in own:
            made.note(section.fact, book)
