"""What is true in the fictitious company, drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

FIRST = (
    "Marta Jonas Helene Viktor Leonie Tobias Carla Edgar Nadja Ruben Silvia Anton Greta Oskar Frieda Milan Ines Casper Dorothea Emil "
    "Judith Konrad Livia Matteo Noemi Pascal Renata Samir Teresa Wanda"
).split()
LAST = (
    "Hollberg Denning Castrop Weidmann Albrecht Sorensen Lindqvist Petrov Okafor Brandt Keller Moreau Tanaka Vasquez Novak Ferrant "
    "Gruber Halloran Ibsen Jaworski Kowalik Laurent Marchetti Nyberg Olander Prochaska Quist Rossi Steiner Thorsen"
).split()
PLACES = "Aldermoor Brightwater Castellan Dunmore Eastvale Fairholt Greywick Harrowby Inverlay Kestrel Lockridge Merrowdale".split()
KINDS = "pump compressor blower mixer separator".split()
SERIES = "Orion Vega Lyra Corvus Draco Hydra Pavo Norma Auriga Cygnus Tucana Perseus".split()
CITIES = "Lindau Brekstad Almere Tarvisio Grenoble Olomouc Aarhus Leoben Tampere Ghent Bilbao Verona".split()
REGIONS = ("Northern Europe", "Central Europe", "Southern Europe", "North America", "East Asia", "South America", "Oceania")
MONTHS = "January February March April May June July August September October November December".split()
ABSENT = "Zephyrine Quartzmill Obeliska Tantaluna Glimmerax Fenwixar Jubilantor Wolframyx".split()  # stand in no document
CAUSES = ("a cracked drive shaft", "a blocked intake filter", "a loose coupling bolt", "a worn shaft seal", "a burnt relay contact")


class Numbers:
    """Numbers of which none is drawn twice, and none stands inside another one's digits."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.drawn: set[str] = set()

    def whole(self, low: int, high: int, step: int = 1) -> int:
        return int(self._new(lambda: str(self._rng.randrange(low, high, step))))

    def tenth(self, low: int, high: int) -> str:
        """Between `low` and `high`, with one decimal that is not nought."""
        return self._new(lambda: f"{self._rng.randrange(low, high)}.{self._rng.randrange(1, 10)}")

    def claim(self, made: set[str]) -> bool:
        """Take these numbers if none of them touches another one; says whether that was so."""
        others = made | self.drawn
        free = not made & self.drawn and all(one == other or (one not in other and other not in one) for one in made for other in others)
        if free:
            self.drawn |= made
        return free

    def _new(self, draw: Callable[[], str]) -> str:
        for _ in range(2000):
            number = draw()
            if not any(number in other or other in number for other in self.drawn):
                self.drawn.add(number)
                return number
        raise ValueError("the range of numbers is used up")


@dataclass(frozen=True)
class Model:
    """Weight in kg, rated pressure in bar, power in kW, flow in m3/h, noise in dB."""

    name: str
    weight: int
    pressure: str
    power: str
    flow: int
    noise: str


@dataclass(frozen=True)
class Facts:
    """One company. What a question asks for stands in its one place only; `bystanders` and `numbers` serve the text around it."""

    seed: int
    company: str
    kind: str
    product: str
    city: str
    other_city: str
    year: int
    head: str
    remote_approver: str
    equipment_limit: int
    notice_weeks: int
    grease_hours: int
    warranty_months: int
    models: tuple[Model, ...]
    asked_model: Model
    growth: str
    revenue: str
    regions: tuple[str, ...]
    sales: dict[str, tuple[str, str, str]]
    asked_region: str
    hotel_limit: int
    supplier: str
    penalty: str
    incident_date: str
    incident_cause: str
    downtime_minutes: int
    certificate: str
    certificate_date: str
    test_pressure: str
    design_pressure: str
    inspector: str
    absent_product: str
    bystanders: tuple[str, ...]
    numbers: Numbers = field(repr=False, compare=False)

    @property
    def title(self) -> str:
        return f"{self.product} {self.kind}"

    def rng(self, subject: str) -> random.Random:
        """The draws of one subject: another document's length does not move them."""
        return random.Random(f"docmemo-sample-{self.seed}-{subject}")


def draw_facts(seed: int) -> Facts:
    """The company of this seed; the same seed draws the same company."""
    rng = random.Random(f"docmemo-sample-{seed}")
    numbers = Numbers(rng)
    people = [f"{first} {last}" for first, last in zip(rng.sample(FIRST, 20), rng.sample(LAST, 20), strict=True)]
    product, kind = rng.choice(SERIES), rng.choice(KINDS)
    models = _models(rng, numbers, product)
    regions = tuple(rng.sample(REGIONS, 5))
    cities = rng.sample(CITIES, 2)
    year = rng.randrange(2019, 2026)
    sales, revenue, growth = _sales(rng, numbers, regions)
    return Facts(
        seed=seed,
        company=f"{rng.choice(PLACES)} {kind.capitalize()}s",
        kind=kind,
        product=product,
        city=cities[0],
        other_city=cities[1],
        year=year,
        head=people[0],
        remote_approver=people[1],
        equipment_limit=numbers.whole(310, 950, 5),
        notice_weeks=rng.randrange(5, 12),
        grease_hours=numbers.whole(1150, 4850, 50),
        warranty_months=rng.choice((18, 27, 30, 33, 42, 54)),
        models=models,
        asked_model=rng.choice(models),
        growth=growth,
        revenue=revenue,
        regions=regions,
        sales=sales,
        asked_region=rng.choice(regions),
        hotel_limit=numbers.whole(112, 189),
        supplier=f"{people[2].split()[1]} & {people[3].split()[1]} Castings",
        penalty=f"0.{rng.choice((35, 45, 55, 65, 85))}",
        incident_date=f"{rng.randrange(2, 28)} {rng.choice(MONTHS)} {year}",
        incident_cause=rng.choice(CAUSES),
        downtime_minutes=numbers.whole(195, 880, 5),
        certificate=f"{rng.choice('KLMNP')}{rng.choice('RSTV')}-{rng.randrange(2100, 9800)}",
        certificate_date=f"{rng.randrange(2, 28)} {rng.choice(MONTHS)} {year}",
        test_pressure=numbers.tenth(61, 98),
        design_pressure=numbers.tenth(61, 98),
        inspector=people[4],
        absent_product=rng.choice(ABSENT),
        bystanders=tuple(people[5:]),
        numbers=numbers,
    )


def _models(rng: random.Random, numbers: Numbers, product: str) -> tuple[Model, ...]:
    """Five sizes; the larger, the heavier, the stronger and the louder."""
    sizes = sorted(rng.sample(range(20, 98), 5))
    weights, flows = (sorted(numbers.whole(1210, 9800) for _ in sizes) for _ in range(2))
    powers, noises = (sorted(numbers.tenth(low, high) for _ in sizes) for low, high in ((110, 390), (60, 98)))
    pressures = [numbers.tenth(100, 400) for _ in sizes]
    rows = zip(sizes, weights, pressures, powers, flows, noises, strict=True)
    return tuple(Model(f"{product} {size}0", weight, bar, kw, flow, noise) for size, weight, bar, kw, flow, noise in rows)



def _sales(rng: random.Random, numbers: Numbers, regions: tuple[str, ...]) -> tuple[dict[str, tuple[str, str, str]], str, str]:
    """Revenue of each region in three years, the last year's sum, and by how many percent that is more than the year before."""
    for _ in range(5000):
        tenths = [[rng.randrange(161, 599) for _ in range(3)] for _ in regions]
        before, last = (sum(row[year] for row in tenths) for year in (1, 2))
        growth, revenue = f"{100 * (last / before - 1):.1f}", f"{last / 10:.1f}"
        values = [tuple(f"{value / 10:.1f}" for value in row) for row in tenths]
        made = {growth, revenue, *(value for row in values for value in row)}
        if 2 < float(growth) < 16 and len(made) == 2 + 3 * len(regions) and numbers.claim(made):
            return dict(zip(regions, values, strict=True)), revenue, growth
    raise ValueError("no sales fit")
