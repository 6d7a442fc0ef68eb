"""What is true in the fictitious company, drawn from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass

FIRST = "Marta Jonas Helene Viktor Leonie Tobias Carla Edgar Nadja Ruben Silvia Anton Greta Oskar Frieda Milan".split()
LAST = "Hollberg Denning Castrop Weidmann Albrecht Sorensen Lindqvist Petrov Okafor Brandt Keller Moreau Tanaka Vasquez Novak".split()
COMPANIES = "Aldermoor Brightwater Castellan Dunmore Eastvale Fairholt Greywick Harrowby Inverlay Kestrel".split()
KINDS = "Pumps Valves Compressors Separators Mixers".split()
SERIES = "Orion Vega Lyra Corvus Draco Hydra Pavo Norma".split()
CITIES = "Lindau Brekstad Almere Tarvisio Grenoble Olomouc Aarhus Leoben Tampere Ghent".split()
REGIONS = ("Northern Europe", "Central Europe", "Southern Europe", "North America", "East Asia")
MONTHS = "January February March April May June July August September October November December".split()
ABSENT = ("Zephyrine", "Quartzmill", "Obeliska", "Tantaluna")  # names that stand in no document


@dataclass(frozen=True)
class Model:
    name: str
    weight: int
    pressure: int
    power: float
    flow: int


@dataclass(frozen=True)
class Facts:
    """One company. Every number that a question asks for occurs in its one place only."""

    seed: int
    company: str
    product: str
    city: str
    year: int
    remote_approver: str
    equipment_limit: int
    notice_weeks: int
    grease_hours: int
    warranty_months: int
    models: tuple[Model, ...]
    asked_model: Model
    noise: dict[str, int]
    revenue: float
    growth: float
    regions: dict[str, float]
    asked_region: str
    hotel_limit: int
    supplier: str
    penalty_percent: float
    incident_date: str
    incident_cause: str
    downtime_hours: int
    certificate: str
    test_pressure: float
    inspector: str
    absent_product: str


def draw_facts(seed: int) -> Facts:
    """The company of this seed; the same seed draws the same company."""
    rng = random.Random(f"docmemo-sample-{seed}")
    people = [f"{first} {last}" for first, last in zip(rng.sample(FIRST, 6), rng.sample(LAST, 6), strict=True)]
    product = rng.choice(SERIES)
    numbers = rng.sample(range(3, 10), 5)
    pressures = rng.sample(range(11, 40), 5)
    models = tuple(
        Model(f"{product} {n}{rng.choice('05')}0", rng.randrange(120, 980), p, rng.randrange(11, 95) / 2, rng.randrange(40, 400))
        for n, p in zip(numbers, pressures, strict=True)
    )
    return Facts(
        seed=seed,
        company=f"{rng.choice(COMPANIES)} {rng.choice(KINDS)}",
        product=product,
        city=rng.choice(CITIES),
        year=rng.randrange(2019, 2026),
        remote_approver=people[0],
        equipment_limit=rng.randrange(31, 95) * 10 + 5,
        notice_weeks=rng.randrange(5, 12),
        grease_hours=rng.randrange(13, 48) * 50,
        warranty_months=rng.choice((18, 30, 42, 54)),
        models=models,
        asked_model=rng.choice(models),
        noise={model.name: decibel for model, decibel in zip(models, rng.sample(range(58, 92), 5), strict=True)},
        revenue=rng.randrange(412, 988) / 10,
        growth=rng.randrange(21, 139) / 10,
        regions=dict(zip(REGIONS, (rng.randrange(41, 299) / 10 for _ in REGIONS), strict=True)),
        asked_region=rng.choice(REGIONS),
        hotel_limit=rng.randrange(91, 189),
        supplier=f"{people[1].split()[1]} & {people[2].split()[1]} Castings",
        penalty_percent=rng.choice((0.35, 0.45, 0.65, 0.85)),
        incident_date=f"{rng.randrange(2, 28)} {rng.choice(MONTHS)} {rng.randrange(2019, 2026)}",
        incident_cause=rng.choice(("a cracked impeller", "a blocked intake filter", "a loose coupling bolt", "a worn shaft seal")),
        downtime_hours=rng.randrange(13, 70),
        certificate=f"{rng.choice('KLMNP')}{rng.choice('RSTV')}-{rng.randrange(2100, 9800)}",
        test_pressure=rng.randrange(412, 689) / 10,
        inspector=people[3],
        absent_product=rng.choice(ABSENT),
    )
