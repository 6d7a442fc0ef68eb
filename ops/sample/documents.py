"""The seven documents of the company. Each returns its page count and where its facts stand."""

from __future__ import annotations

import random
from pathlib import Path

from facts import MONTHS, Facts
from layout import Book, scanned
from prose import TOPICS, paragraphs

Made = tuple[int, dict[str, int]]  # pages, name of the fact -> physical page


def _titled(topic: str) -> str:
    return topic.removeprefix("the ").capitalize()


def _long_book(book: Book, facts: Facts, kind: str, pages_a_topic: int, planted: dict[str, dict]) -> dict[str, int]:
    """Sections in an order of their own; each planted fact goes onto a page of a third of the book that it names."""
    rng = random.Random(f"{kind}-{facts.seed}")
    topics = rng.sample(TOPICS[kind], len(TOPICS[kind]))
    places = {name: int((rng.random() * 0.25 + plan["third"] * 0.33) * len(topics) * pages_a_topic) for name, plan in planted.items()}
    found: dict[str, int] = {}
    count = 0
    for number, topic in enumerate(topics, start=1):
        for part in range(pages_a_topic):
            here = [name for name, place in places.items() if place == count]
            title = f"{number}. {_titled(topic)}" if part == 0 else f"{number}.{part} More on {topic.removeprefix('the ')}"
            texts = paragraphs(rng, topic, 4 if here else 5)
            extras: dict = {}
            for name in here:
                plan = planted[name]
                if "heading" in plan:
                    title = f"{number}.{part + 1} {plan['heading']}"
                if "text" in plan:
                    texts.insert(rng.randrange(1, 3), plan["text"])
                extras |= {key: plan[key] for key in ("table", "chart") if key in plan}
            if "table" in extras or "chart" in extras:
                texts = texts[:3]
            page = book.page(title, texts, opens_section=part == 0, **extras)
            found |= dict.fromkeys(here, page)
            count += 1
    return found


def handbook(path: Path, facts: Facts) -> Made:
    """More than 60 pages, front matter with roman labels, one fact in two halves far apart."""
    book = Book(path, "Employee Handbook", facts.company, front_pages=4)
    book.cover([f"Edition {facts.year}", f"Site {facts.city}"])
    book.contents([(_titled(topic), str(3 * n + 1)) for n, topic in enumerate(TOPICS["handbook"])])
    book.page("Preface", paragraphs(random.Random(facts.seed), "this handbook", 3))
    book.page("How to read this handbook", paragraphs(random.Random(facts.seed + 1), "the chapters", 3))
    found = _long_book(book, facts, "handbook", 3, {
        "approver": {"third": 0, "heading": "Remote work from abroad",
                     "text": f"Requests for remote work from abroad are approved by {facts.remote_approver}."},
        "equipment": {"third": 2, "heading": "Equipment for the home office",
                      "text": f"The limit for home office equipment is {facts.equipment_limit} euro for each employee."},
        "notice": {"third": 1, "heading": "Sabbaticals",
                   "text": f"A sabbatical has to be requested {facts.notice_weeks} weeks before it begins."},
    })  # fmt: skip
    book.close()
    return book.number, found


def manual(path: Path, facts: Facts) -> Made:
    """More than 60 pages, a table of the models and a figure."""
    book = Book(path, f"{facts.product} Operating Manual", facts.company)
    book.cover([f"Issue {facts.year}", "Keep beside the machine"])
    book.contents([(_titled(topic), str(3 * n + 3)) for n, topic in enumerate(TOPICS["manual"])])
    rows = [["Model", "Weight (kg)", "Maximum pressure (bar)", "Power (kW)", "Flow (m3/h)"]]
    rows += [[m.name, str(m.weight), str(m.pressure), f"{m.power:g}", str(m.flow)] for m in facts.models]
    found = _long_book(book, facts, "manual", 3, {
        "grease": {"third": 0, "heading": "Greasing",
                   "text": f"The main bearing of the {facts.product} must be greased every {facts.grease_hours} operating hours."},
        "models": {"third": 1, "heading": "Technical data", "table": ("Table 2: Technical data of the models", rows)},
        "noise": {"third": 2, "heading": "Noise",
                  "chart": ("Figure 3: Noise level at full load by model", {k: float(v) for k, v in facts.noise.items()}, "dB")},
        "warranty": {"third": 1.4, "heading": "Warranty",
                     "text": f"The warranty of the {facts.product} lasts {facts.warranty_months} months from delivery."},
    })  # fmt: skip
    book.close()
    return book.number, found


def _short_book(path: Path, title: str, facts: Facts, kind: str, fact_pages: dict[int, tuple[str, dict]]) -> Made:
    book = Book(path, title, facts.company)
    rng = random.Random(f"{kind}-{facts.seed}")
    found: dict[str, int] = {}
    for number, topic in enumerate(TOPICS[kind], start=1):
        texts = paragraphs(rng, topic, 4)
        plan = fact_pages.get(number)
        extras: dict = {}
        heading = f"{number}. {_titled(topic)}"
        if plan:
            name, content = plan
            heading = f"{number}. {content.get('heading', _titled(topic))}"
            texts = [*texts[:1], *content.get("texts", []), *texts[1:3]]
            extras = {key: content[key] for key in ("table", "chart") if key in content}
        page = book.page(heading, texts, opens_section=True, **extras)
        if plan:
            found[plan[0]] = page
    book.close()
    return book.number, found


def annual_report(path: Path, facts: Facts) -> Made:
    rows = [["Region", f"Revenue {facts.year} (million euro)"]] + [[name, f"{value:.1f}"] for name, value in facts.regions.items()]
    growth = f"Revenue rose by {facts.growth:.1f} percent to {facts.revenue:.1f} million euro in {facts.year}."
    return _short_book(path, f"Annual Report {facts.year}", facts, "report", {
        1: ("growth", {"heading": "The year in figures", "texts": [growth]}),
        4: ("regions", {"heading": "Sales by region", "table": ("Table 1: Revenue by region", rows),
                        "chart": ("Figure 1: Revenue by region", facts.regions, "million euro")}),
    })  # fmt: skip


def travel_policy(path: Path, facts: Facts) -> Made:
    text = f"A hotel night is paid up to {facts.hotel_limit} euro including breakfast."
    return _short_book(path, "Travel Expense Policy", facts, "travel", {3: ("hotel", {"heading": "Hotels", "texts": [text]})})


def supplier_contract(path: Path, facts: Facts) -> Made:
    text = f"For each day of late delivery {facts.supplier} pays a penalty of {facts.penalty_percent:g} percent of the order value."
    return _short_book(path, f"Supply Agreement with {facts.supplier}", facts, "contract", {
        5: ("penalty", {"heading": "Late delivery", "texts": [text]}),
    })  # fmt: skip


def incident_report(path: Path, facts: Facts) -> Made:
    text = (
        f"The outage of {facts.incident_date} was caused by {facts.incident_cause}. "
        f"The line in {facts.city} stood still for {facts.downtime_hours} hours."
    )
    return _short_book(path, "Incident Report", facts, "incident", {2: ("cause", {"heading": "Cause", "texts": [text]})})


def certificate(path: Path, facts: Facts) -> Made:
    """A scan: a picture without a text layer."""
    rng = random.Random(f"certificate-{facts.seed}")
    date = f"{rng.randrange(2, 28)} {rng.choice(MONTHS)} {facts.year}"
    scanned(
        path,
        [
            ("INSPECTION CERTIFICATE", 52),
            (facts.company, 34),
            (f"Certificate number {facts.certificate}", 30),
            ("", 24),
            (f"Object: storage tank of the {facts.city} site", 30),
            (f"Date of the test: {date}", 30),
            (f"The tank passed the pressure test at {facts.test_pressure:.1f} bar.", 30),
            (f"Inspector: {facts.inspector}", 30),
            ("", 24),
            ("This certificate stays with the tank.", 26),
        ],
        facts.seed,
    )
    return 1, {"tank": 1}


MAKERS = {
    "employee-handbook.pdf": handbook,
    "operating-manual.pdf": manual,
    "annual-report.pdf": annual_report,
    "travel-policy.pdf": travel_policy,
    "supply-agreement.pdf": supplier_contract,
    "incident-report.pdf": incident_report,
    "inspection-certificate.pdf": certificate,
}
