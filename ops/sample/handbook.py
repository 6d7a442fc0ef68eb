"""The employee handbook: more than 60 pages, front matter with roman labels, one question's answer in two halves far apart."""

from __future__ import annotations

import random
from pathlib import Path

from books import Made, Planted, Section, chapters_of, contents_of, write_chapters
from facts import Facts
from layout import Book
from prose import prose
from topics import HANDBOOK, Topic

NEEDED = ("Working from elsewhere", "Tools and furniture", "Leave of absence", "Company bicycles", "Training", "Visitors")
HEADER = ("Subject", "In stock", "In use")
FRONT = Topic(
    "Front matter", ("chapters", "editions", "examples", "footnotes"), ("read on", "ask back", "skip a page", "look it up"), "the editor"
)


def handbook(path: Path, facts: Facts) -> Made:
    rng = facts.rng("handbook")
    made = Made("Employee Handbook")
    topics = _topics(rng)
    chapters = chapters_of(facts, topics, _planted(facts), HEADER, rng)
    more = rng.randrange(1, 4)  # pages of front matter beside cover and contents: labels move with the seed
    book = Book(path, made.title, facts.company, front_pages=3 + more, chapters=True)
    book.cover([f"Edition {facts.year}", f"{facts.city} and {facts.other_city}"])
    book.contents(contents_of(topics, chapters, 1), pages=2)
    filler = prose(facts, "general", FRONT, made.title)
    for title in ("Preface", "How to use this handbook", "What is new in this edition")[:more]:
        signed = [f"{facts.head}, Managing Director"] if title == "Preface" else []
        book.page("", signed, filler, chapter=title, full=0.6, before=9)
    write_chapters(book, made, facts, "general", topics, chapters)
    made.pages = book.close()
    return made


def _topics(rng: random.Random) -> list[Topic]:
    """20 to 22 topics in an order in which the two halves stand at least ten chapters apart."""
    others = [name for name in HANDBOOK if name not in NEEDED]
    names = [*NEEDED, *rng.sample(others, rng.randrange(14, 17))]
    while True:
        rng.shuffle(names)
        if abs(names.index(NEEDED[0]) - names.index(NEEDED[1])) >= 10:
            return [HANDBOOK[name] for name in names]


def _planted(facts: Facts) -> Planted:
    """The facts, and elsewhere sentences of the same kind on other matters."""
    bike, course, guide = facts.bystanders[:3]
    price = facts.numbers.whole(1010, 1990, 10)
    return {
        "Working from elsewhere": [
            Section(
                "Remote work from abroad",
                [f"Remote work from abroad is approved by {facts.remote_approver}, for all sites."],
                "approver",
            )
        ],
        "Tools and furniture": [
            Section(
                "Equipment for the home office",
                [f"For home office equipment the company pays up to {facts.equipment_limit} euro, once in five years."],
                "equipment",
            )
        ],
        "Leave of absence": [
            Section("Sabbaticals", [f"A sabbatical has to be requested at least {facts.notice_weeks} weeks before it begins."], "notice")
        ],
        "Company bicycles": [Section("Longer loans", [f"A loan of a bicycle over the summer is approved by {bike}."])],
        "Training": [
            Section(
                "Courses away from the site",
                [f"A course in another country is approved by {course}.",
                 f"For evening classes the company pays up to {price} euro a year."],
            )
        ],
        "Visitors": [Section("Visitors from abroad", [f"Visits of groups from abroad are agreed on with {guide}."])],
    }  # fmt: skip
