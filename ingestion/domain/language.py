"""Which language a text is in, by its most common small words: enough to choose how its words are reduced for search."""

from __future__ import annotations

import re
from collections import Counter

# PostgreSQL's text search configurations, with small words that are common in the language and rare in the others.
SMALL_WORDS: dict[str, frozenset[str]] = {
    "english": frozenset("the and of to in is for that with are this from was by not have which been or be as at".split()),
    "german": frozenset("der die das und ist nicht mit den dem des ein eine für auf werden sich auch von zu wird".split()),
    "french": frozenset("le la les des et est une dans pour que qui sur pas avec du au ce sont par ou".split()),
    "spanish": frozenset("el los las y es una para que por con del se su al como más pero sus le ya".split()),
    "italian": frozenset("il che di non è per una sono con del della gli nel alla anche dei delle più come si".split()),
    "dutch": frozenset("het een van en is dat op te voor met zijn niet aan er ook als bij door naar om".split()),
    "portuguese": frozenset("os que não uma para com dos das por mais como ao seu sua pelo pela são foi ou em".split()),
    "swedish": frozenset("och att det som en på är av för med till den har inte om ett han var jag vi".split()),
}
UNKNOWN = "simple"
_WORD = re.compile(r"[^\W\d_]+")


def detect_language(text: str, sample: int = 50_000) -> str:
    """The configuration whose small words make up the largest share of the text; `simple` where none is clear."""
    counts = Counter(_WORD.findall(text[:sample].lower()))
    total = sum(counts.values())
    if not total:
        return UNKNOWN
    shares = sorted(
        ((sum(counts[word] for word in words) / total, name) for name, words in SMALL_WORDS.items()), reverse=True
    )
    (best, name), (second, _) = shares[0], shares[1]
    if best >= 0.08 and best >= 1.3 * second:
        return name
    # too little to tell: short English labels and tables are still better stemmed when all letters are plain Latin
    return "english" if text.isascii() and best >= second else UNKNOWN
