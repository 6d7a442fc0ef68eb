"""What a drill sends, made from a seed: small PDFs with facts of their own, documents' lives, and messages that must be refused.

A life is a list of events with growing revisions; lives of many documents are woven together, each in its own order. Into them come
the same events again, lower revisions that arrive late, crowds (twenty sends of one document at once) and poison.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

CORPUS = "drill"
ORGANISATION, STRANGERS = "drill", "strangers"
SOURCE = "drill"
CROWD = 20
CREATED, UPDATED, DELETED = "document.created", "document.updated", "document.deleted"
ACCESS_CHANGED = "document.access_changed"
TAGS = ("staff", "legal", "board", "finance")


@dataclass(frozen=True)
class Access:
    """A whole list, as events carry it."""

    allow: tuple[str, ...] | None
    deny: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sent:
    """One event as it is sent. `pages` holds each page's fact; `pdf` is there for events that carry content."""

    id: str
    type: str
    external_id: str
    revision: int
    pdf: bytes | None = None
    pages: tuple[str, ...] = ()
    access: Access | None = None

    @property
    def sha256(self) -> str | None:
        return None if self.pdf is None else hashlib.sha256(self.pdf).hexdigest()


@dataclass(frozen=True)
class Poison:
    """A message that must end as a dead letter with one of `causes`; `name` stands in its key or its value."""

    name: str
    kind: str
    value: bytes
    causes: tuple[str, ...]

    @property
    def key(self) -> bytes | None:
        """The message's key: that of its document, but for the kind that has none."""
        return None if self.kind == "no_key" else f"{CORPUS}/{self.name}".encode()


@dataclass(frozen=True)
class Step:
    """One thing to send: an event, the same event `again`, a `crowd` of the events, or poison."""

    kind: str
    events: tuple[Sent, ...] = ()
    poison: Poison | None = None


@dataclass
class Plan:
    steps: list[Step] = field(default_factory=list)

    @property
    def sent(self) -> list[Sent]:
        """Every event once, in the order of sending."""
        found: dict[str, Sent] = {}
        for step in self.steps:
            for event in step.events:
                found.setdefault(event.id, event)
        return list(found.values())

    @property
    def poison(self) -> list[Poison]:
        return [step.poison for step in self.steps if step.poison is not None]


def small_pdf(pages: Sequence[str]) -> bytes:
    """A valid PDF with one line of text on each page."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(count))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, line in enumerate(pages):
        drawn = f"BT /F1 11 Tf 40 700 Td ({line}) Tj ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * number} 0 R >>"
        )
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    body = b"%PDF-1.4\n"
    places = []
    for number, text in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n".encode("ascii")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    return body + f"{end}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n".encode("ascii")


class Generator:
    """`plan` gives the same steps for the same seed and number of documents."""

    def __init__(self, seed: int, documents: int) -> None:
        self.draw = random.Random(seed)
        self.documents = documents
        self.facts = 0

    def plan(self) -> Plan:
        """The whole stream, woven."""
        lives = [self._life(number) for number in range(self.documents)]
        crowds = max(1, self.documents // 40)
        for number in range(crowds):
            lives.append([Step("crowd", tuple(self._crowd(f"crowd-{number:03d}.pdf", number % 2 == 0)))])
        lives += [[Step("poison", poison=one)] for one in self._poison()]
        steps: list[Step] = []
        open_lives = [life for life in lives if life]
        while open_lives:
            life = self.draw.choice(open_lives)
            steps.append(life.pop(0))
            if not life:
                open_lives.remove(life)
        return Plan(steps)

    # --- events ------------------------------------------------------------------------------------

    def _id(self) -> str:
        return str(uuid.UUID(int=self.draw.getrandbits(128), version=4))

    def _access(self) -> Access:
        if self.draw.random() < 0.3:
            return Access(None)
        allow = tuple(sorted(self.draw.sample(TAGS, self.draw.randint(0, 2))))
        deny = tuple(sorted(set(self.draw.sample(TAGS, self.draw.randint(0, 1))) - set(allow)))
        return Access(allow, deny)

    def _content(self, kind: str, name: str, revision: int) -> Sent:
        pages = []
        for number in range(1, self.draw.randint(1, 3) + 1):
            self.facts += 1
            pages.append(f"Fact {self.facts} of {name} page {number}: code {self.draw.getrandbits(40):x} holds")
        return Sent(self._id(), kind, name, revision, small_pdf(pages), tuple(pages), self._access())

    def _bare(self, kind: str, name: str, revision: int) -> Sent:
        return Sent(self._id(), kind, name, revision, access=self._access() if kind == ACCESS_CHANGED else None)

    # --- lives -------------------------------------------------------------------------------------

    def _life(self, number: int) -> list[Step]:
        """One document from its creation on."""
        name = f"document-{number:04d}.pdf"
        revision = self.draw.randint(1, 50)
        events = [self._content(CREATED, name, revision)]
        for chapter in self.draw.choices(
            ("updated", "hurried", "access", "revoked", "deleted", "reborn", "latecomer"), (4, 2, 3, 1, 1, 2, 2), k=self.draw.randint(0, 3)
        ):
            for event in self._chapter(chapter, name, revision):
                events.append(event)
                revision = max(revision, event.revision)
            if chapter == "deleted":
                break
        steps: list[Step] = []
        for position, event in enumerate(events):
            steps.append(Step("send", (event,)))
            if self.draw.random() < 0.15:
                steps.append(Step("again", (events[self.draw.randint(0, position)],)))
        return steps

    def _chapter(self, chapter: str, name: str, revision: int) -> Iterator[Sent]:
        following = revision + self.draw.randint(1, 9)
        if chapter == "updated":
            yield self._content(UPDATED, name, following)
        elif chapter == "hurried":
            for step in range(self.draw.randint(3, 5)):
                yield self._content(UPDATED, name, following + step)
        elif chapter == "access":
            yield self._bare(ACCESS_CHANGED, name, following)
        elif chapter == "revoked":
            yield replace(self._bare(ACCESS_CHANGED, name, following), access=Access((), ()))
        elif chapter == "deleted":
            yield self._bare(DELETED, name, following)
            if self.draw.random() < 0.5:  # a list for a document that is gone does not bring it back
                yield self._bare(ACCESS_CHANGED, name, following + 1)
        elif chapter == "reborn":
            yield self._bare(DELETED, name, following)
            yield self._content(CREATED, name, following + self.draw.randint(1, 9))
        else:
            newer = self._content(UPDATED, name, following + 5)
            yield newer
            yield self._content(UPDATED, name, following)

    def _crowd(self, name: str, one_id: bool) -> list[Sent]:
        """Twenty sends of one document at once: of one event, or of twenty events with the same content."""
        first = self._content(CREATED, name, 1)
        if one_id:
            return [first] * CROWD
        return [replace(first, id=self._id(), revision=1 + number) for number in range(CROWD)]

    # --- poison ------------------------------------------------------------------------------------

    def _poison(self) -> list[Poison]:
        """Each kind at least once, more of them in a larger drill."""
        found = []
        for turn in range(max(1, self.documents // 100)):
            for kind in POISON:
                name = f"poison-{turn:02d}-{kind}"
                value, causes = poison_value(kind, name, self._content(CREATED, name, 1), self._id())
                found.append(Poison(name, kind, value, causes))
        return found


POISON_NAME = re.compile(r"poison-\d\d-[a-z0-9_]+")
POISON = (
    "not_json", "unknown_schema", "unknown_type", "missing_key", "too_large", "unknown_source", "bad_base64", "foreign_blob",
    "no_key",
)  # fmt: skip
FOREIGN = b"%PDF-1.4 bytes that belong to another organisation"


def poison_value(kind: str, name: str, event: Sent, event_id: str) -> tuple[bytes, tuple[str, ...]]:
    """The bytes of one bad message, and the causes that a dead letter of it may name."""
    import base64

    good = envelope(event, {"content_base64": base64.b64encode(event.pdf or b"").decode()})
    data = dict(good["data"])
    if kind == "not_json":
        return json.dumps(good).encode()[:200], ("not_json",)
    if kind == "unknown_schema":
        return json.dumps({**good, "specversion": "9.0"}).encode(), ("bad_event",)
    if kind == "unknown_type":
        return json.dumps({**good, "type": "document.reversed"}).encode(), ("bad_event",)
    if kind == "missing_key":
        return json.dumps({key: value for key, value in good.items() if key != "id"}).encode(), ("bad_event",)
    if kind == "too_large":
        noise = random.Random(event_id).randbytes(510_000).hex()
        return json.dumps({**good, "data": {**data, "content_base64": noise}}).encode(), ("too_large",)
    if kind == "unknown_source":
        return json.dumps({**good, "source": f"/docmemo/{ORGANISATION}/nobody"}).encode(), ("unknown_source",)
    if kind == "no_key":
        return json.dumps({**good, "id": event_id}).encode(), ("bad_key",)
    if kind == "bad_base64":
        return json.dumps({**good, "data": {**data, "content_base64": "%%% not base64 %%%"}}).encode(), ("bad_event",)
    del data["content_base64"]
    data["blob"] = {"sha256": hashlib.sha256(FOREIGN).hexdigest(), "bytes": len(FOREIGN)}
    return json.dumps({**good, "id": event_id, "data": data}).encode(), ("unknown_blob",)


def envelope(event: Sent, content: dict | None) -> dict:
    """The CloudEvent of an event; `content` says where its bytes are."""
    data: dict = {"corpus": CORPUS, "external_id": event.external_id, "title": event.external_id, "file_name": event.external_id}
    if event.access is not None:
        data["access"] = {"allow": None if event.access.allow is None else list(event.access.allow), "deny": list(event.access.deny)}
    return {
        "specversion": "1.0",
        "id": event.id,
        "source": f"/docmemo/{ORGANISATION}/{SOURCE}",
        "type": event.type,
        "subject": f"{CORPUS}/{event.external_id}",
        "sequence": event.revision,
        "datacontenttype": "application/json",
        "data": {**data, **(content or {})},
    }
