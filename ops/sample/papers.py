"""The shorter documents: annual report, travel policy, supply agreement, incident report."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

from books import Made, Planted, Section, write_sections
from facts import CAUSES, Facts
from layout import Bars, Book, Ruled
from topics import CONTRACT, INCIDENT, REPORT, TRAVEL, Topic


def annual_report(path: Path, facts: Facts) -> Made:
    rng = facts.rng("report")
    years = [str(facts.year - 2), str(facts.year - 1), str(facts.year)]
    keys = [["Key figure", *years]]
    keys += [[name, *(facts.numbers.tenth(100, 400) for _ in years)] for name in ("Orders (million euro)", "Stocks (million euro)")]
    keys += [["Employees", *(str(rng.randrange(520, 990)) for _ in years)]]
    orders = facts.numbers.tenth(17, 40)
    quarters = [(f"Quarter {n}", str(rng.randrange(200, 390))) for n in range(1, 5)]
    sales = [["Region", *years], *([region, *values] for region, values in facts.sales.items())]
    planted: Planted = {
        "The year in figures": [
            Section(
                "",
                [f"Revenue increased by {facts.growth} percent in {facts.year} and reached {facts.revenue} million euro.",
                 f"The margin on spare parts was {orders} percent.", Ruled("Key figures of three years", keys)],
                "growth",
            )
        ],
        "Sales by region": [Section("", [Ruled("Revenue by region in million euro", sales)], "regions")],
        "Energy and climate": [Section("", [Bars(f"Energy use in {facts.year} by quarter", quarters, "MWh", upright=True)])],
    }  # fmt: skip
    cover = [f"{facts.city}, {facts.other_city}", f"{facts.head}, Managing Director"]
    return _paper(path, f"Annual Report {facts.year}", facts, REPORT, planted, "The year in figures", "Outlook", cover, rng)


def travel_policy(path: Path, facts: Facts) -> Made:
    dinner, taxi = facts.numbers.whole(50, 99), facts.numbers.whole(50, 99)
    planted: Planted = {
        "Hotels": [Section("", [f"For a night in a hotel the company pays up to {facts.hotel_limit} euro, breakfast included."], "hotel")],
        "Meals": [Section("", [f"For a dinner with guests the company pays up to {dinner} euro for each person."])],
        "Cars and taxis": [Section("", [f"A taxi ride of more than {taxi} euro has to be explained on the claim sheet."])],
    }
    return _paper(path, "Travel Expense Policy", facts, TRAVEL, planted, "Planning a trip", "", [], facts.rng("travel"))


def supply_agreement(path: Path, facts: Facts) -> Made:
    rng = facts.rng("contract")
    penalty = f"For each day of late delivery {facts.supplier} pays a penalty of {facts.penalty} percent of the order value."
    planted: Planted = {
        "Late delivery": [Section("", [penalty], "penalty")],
        "Term and notice": [Section("", [f"The agreement runs until the end of {facts.year + rng.randrange(3, 7)}."])],
        "Quality and inspection": [Section("", [f"{facts.supplier} keeps one test bar of each lot for {rng.randrange(3, 9)} years."])],
    }
    title = f"Supply Agreement with {facts.supplier}"
    return _paper(path, title, facts, CONTRACT, planted, "Subject of the agreement", "Term and notice", [], rng)


def incident_report(path: Path, facts: Facts) -> Made:
    rng = facts.rng("incident")
    suspected = rng.choice([cause for cause in CAUSES if cause != facts.incident_cause])
    downtime = f"Production in {facts.city} was interrupted for {facts.downtime_minutes} minutes on {facts.incident_date}."
    planted: Planted = {
        "Summary": [Section("", [downtime], "downtime")],
        "Cause": [
            Section(
                "",
                [f"The outage of {facts.incident_date} was caused by {facts.incident_cause}.",
                 f"At first {suspected} had been suspected, but nothing of that kind was found."],
                "cause",
            )
        ],
    }  # fmt: skip
    return _paper(path, "Incident Report", facts, INCIDENT, planted, "Summary", "Follow-up", [], rng)


def _paper(
    path: Path, title: str, facts: Facts, topics: Mapping[str, Topic], planted: Planted, first: str, last: str, cover: list[str],
    rng: random.Random,
) -> Made:  # fmt: skip
    """Sections in an order of the seed between a first and a last one; with a cover where it has lines."""
    names = [name for name in topics if name not in (first, last)]
    rng.shuffle(names)
    made = Made(title)
    book = Book(path, title, facts.company)
    if cover:
        book.cover(cover)
    write_sections(book, made, facts, [topics[name] for name in (first, *names, last) if name], planted)
    made.pages = book.close()
    return made
