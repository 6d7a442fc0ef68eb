"""The operating manual: more than 60 pages, tables of the models, figures."""

from __future__ import annotations

import random
from pathlib import Path

from books import Made, Planted, Section, chapters_of, contents_of, write_chapters
from facts import Facts
from layout import Bars, Book, Ruled
from topics import MANUAL, Topic

NEEDED = (
    "Lubrication", "Technical data", "Sound and vibration", "Warranty and service", "Electrical connection", "Foundations", "Cooling",
    "Filters", "Couplings",
)  # fmt: skip
HEADER = ("Part", "Check after (days)", "Spare pieces")


def manual(path: Path, facts: Facts) -> Made:
    rng = facts.rng("manual")
    made = Made(f"{facts.product} Operating Manual")
    others = [name for name in MANUAL if name not in NEEDED]
    names = [*NEEDED, *rng.sample(others, rng.randrange(11, 14))]
    rng.shuffle(names)
    topics: list[Topic] = [MANUAL[name] for name in names]
    chapters = chapters_of(facts, topics, _planted(facts, rng), HEADER, rng)
    book = Book(path, made.title, facts.company, chapters=True)
    book.cover([f"{facts.title}, all sizes", f"Issue {facts.year}", "Keep this manual beside the machine."])
    book.contents(contents_of(topics, chapters, 4), pages=2)
    write_chapters(book, made, facts, "technical", topics, chapters)
    made.pages = book.close()
    return made


def _planted(facts: Facts, rng: random.Random) -> Planted:
    data = [["Model", "Weight (kg)", "Rated pressure (bar)", "Power (kW)", "Flow (m3/h)"]]
    data += [[m.name, str(m.weight), m.pressure, m.power, str(m.flow)] for m in facts.models]
    return {
        "Technical data": [
            Section(
                "Data of the models",
                ["The figures hold at 20 degrees and at sea level.", Ruled("Technical data of the models", data)],
                "models",
            )
        ],
        "Sound and vibration": [
            Section(
                "Noise at full load",
                ["The noise was measured at one metre from the casing.",
                 Bars("Noise level at full load by model", [(m.name, m.noise) for m in facts.models], "dB")],
                "noise",
            )
        ],
        "Lubrication": [
            Section(
                "The main bearing",
                [f"Grease the main bearing of the {facts.product} after every {facts.grease_hours} operating hours, "
                 "even if it runs quietly."],
                "grease",
            )
        ],
        "Warranty and service": [
            Section(
                "Length of the warranty",
                [f"The warranty of the {facts.product} lasts {facts.warranty_months} months and begins on the day of delivery.",
                 "Wear parts such as seals and filters are not covered."],
                "warranty",
            )
        ],
        **_bystanders(facts, rng),
    }  # fmt: skip


def _bystanders(facts: Facts, rng: random.Random) -> Planted:
    """Sections that resemble the asked ones and answer other questions."""
    names = [m.name for m in facts.models]
    current = [["Model", "Rated voltage (V)", "Rated current (A)"]]
    current += [[name, rng.choice(("400", "690")), str(rng.randrange(520, 990))] for name in names]
    plates = [["Model", "Plate length (mm)", "Plate width (mm)"]]
    plates += [[name, str(rng.randrange(210, 290) * 10), str(rng.randrange(90, 120) * 10)] for name in names]
    spider, filters = facts.numbers.whole(1150, 4850, 50), facts.numbers.whole(1150, 4850, 50)
    quarters = [(f"Quarter {n}", str(rng.randrange(30, 60))) for n in range(1, 5)]
    elements = [(f"Month {n}", str(rng.randrange(30, 60))) for n in range(1, 6)]
    return {
        "Electrical connection": [Section("Voltages and currents", [Ruled("Electrical data of the models", current)])],
        "Foundations": [Section("Sizes of the base plates", [Ruled("Base plates of the models", plates)])],
        "Couplings": [
            Section("Changing the spider", [f"Change the spider after every {spider} operating hours, or earlier if it is cracked."])
        ],
        "Filters": [
            Section(
                "Life of an element",
                [f"A filter element serves for {filters} operating hours in clean air.",
                 Bars("Rise of the pressure loss over five months", elements, "mbar", upright=True)],
            )
        ],
        "Cooling": [
            Section("Temperature over the year", [Bars("Temperature of the casing by quarter", quarters, "degrees", upright=True)])
        ],
    }  # fmt: skip
