"""Text around the facts: varied from page to page, sensible, and without any asked fact."""

from __future__ import annotations

import random

TOPICS = {
    "handbook": (
        "working hours", "holidays", "sick leave", "parental leave", "training", "performance reviews", "mentoring", "data protection",
        "information security", "the canteen", "parking", "company bicycles", "visitors", "fire drills", "first aid", "lone working",
        "suggestions", "the works council", "internal transfers", "volunteering",
    ),
    "manual": (
        "unpacking", "foundations", "alignment", "suction piping", "discharge piping", "electrical connection", "direction of rotation",
        "priming", "first start", "daily checks", "seals", "couplings", "filters", "cooling", "alarms", "long stops", "frost protection",
        "spare parts", "dismantling", "disposal",
    ),
    "report": ("the market", "research", "employees", "energy use", "logistics", "quality", "risks", "outlook"),
    "travel": ("booking", "trains", "flights", "rental cars", "meals", "receipts", "advances"),
    "contract": ("delivery", "drawings", "inspection of goods", "confidentiality", "force majeure", "tools", "assignment"),
    "incident": ("the course of events", "immediate measures", "interviews", "lessons", "follow-up"),
}

SENTENCES = (
    "The rules on {topic} apply to every site and are looked at again once a year.",
    "Questions about {topic} go to the team that is named on the notice board of the site.",
    "Whoever notices a problem with {topic} writes it down on the same day and tells the shift lead.",
    "Records of {topic} are kept in the shared register and are open to those who need them.",
    "Changes to {topic} are announced in good time, so that nobody is taken by surprise.",
    "A short checklist for {topic} hangs in each hall, beside the plan of the escape routes.",
    "In our experience careful preparation saves more time with {topic} than any shortcut.",
    "Two colleagues look at {topic} together, and both sign the form when they are content.",
    "Where local law asks for more than this text, local law comes first in all matters of {topic}.",
    "New colleagues learn about {topic} during their first weeks, with a colleague at their side.",
    "Last year {count} remarks about {topic} were collected, and most of them were small.",
    "Of {count} visits in the past season none gave reason to change the practice of {topic}.",
    "A photograph of the place helps when {topic} has to be explained to somebody far away.",
    "What is written here about {topic} is a minimum; each team may agree on more.",
    "If in doubt about {topic}, stop, ask, and only then go on.",
    "The wording on {topic} was made shorter in this edition, and the meaning is the same.",
)


def paragraphs(rng: random.Random, topic: str, count: int) -> list[str]:
    """Paragraphs on a topic, of four or five sentences each."""
    made = []
    for _ in range(count):
        chosen = rng.sample(SENTENCES, rng.choice((4, 5)))
        made.append(" ".join(s.format(topic=topic, count=rng.randrange(104, 398)) for s in chosen))
    return made
