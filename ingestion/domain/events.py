"""The events that documents and corpora arrive as: CloudEvents 1.0 in JSON, keyed by document or by corpus.

    document.created | document.updated   content (inline or by reference to a blob of ours) and the whole access list
    document.deleted                      the tombstone
    document.access_changed               the whole access list, never a difference
    corpus.created | corpus.updated       name and the whole access list: the ceiling of all that is in it
    corpus.deleted                        the tombstone of the corpus and of every document in it

`sequence` (a CloudEvents extension) is the revision of the document or corpus: it only grows, and a lower one arriving late changes
nothing that a higher one has said. Structured mode has the whole event in the message's value; binary mode has the attributes in
headers `ce_*`, the data in the value. And what is sent: the outcomes of documents and answers, as CloudEvents in structured mode.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, ConfigDict, Discriminator, Field, StringConstraints, Tag, TypeAdapter, ValidationError

from ingestion.domain.errors import Permanent

DOCUMENTS_TOPIC = "docmemo.documents"
CORPORA_TOPIC = "docmemo.corpora"
INTAKE_TOPICS = (DOCUMENTS_TOPIC, CORPORA_TOPIC)
EVENTS_TOPIC = "docmemo.events"
DEAD_LETTERS_TOPIC = "docmemo.dead-letters"
MAX_EVENT_BYTES = 1_000_000
MAX_INLINE_BYTES = 512 * 1024

Slug = Annotated[str, StringConstraints(pattern=r"^[-a-zA-Z0-9_]+$", min_length=1, max_length=100)]
ExternalId = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
TagName = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class EventType(StrEnum):
    CREATED = "document.created"
    UPDATED = "document.updated"
    DELETED = "document.deleted"
    ACCESS_CHANGED = "document.access_changed"
    CORPUS_CREATED = "corpus.created"
    CORPUS_UPDATED = "corpus.updated"
    CORPUS_DELETED = "corpus.deleted"

    @property
    def of_corpus(self) -> bool:
        return self.value.startswith("corpus.")


DocumentEventType = Literal[EventType.CREATED, EventType.UPDATED, EventType.DELETED, EventType.ACCESS_CHANGED]
CorpusEventType = Literal[EventType.CORPUS_CREATED, EventType.CORPUS_UPDATED, EventType.CORPUS_DELETED]


class OutcomeType(StrEnum):
    """What is told to the outside."""

    PUBLISHED = "document.version.published"
    FAILED = "document.version.failed"
    SUPERSEDED = "document.version.superseded"
    WITHDRAWN = "document.version.withdrawn"
    ANSWER_RELEASED = "answer.released"
    ANSWER_WITHDRAWN = "answer.withdrawn"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AccessData(_Strict):
    """A whole list: `allow` null means that the document does not narrow its corpus; an empty one lets nobody in."""

    allow: tuple[TagName, ...] | None = Field(default=None, max_length=500)
    deny: tuple[TagName, ...] = Field(default=(), max_length=500)


class BlobReference(_Strict):
    sha256: Sha256
    bytes: int = Field(ge=0)


class DocumentData(_Strict):
    """What an event says of its document. Content comes as `blob` or as `content_base64`, or not at all."""

    corpus: Slug
    external_id: ExternalId
    title: str = Field(default="", max_length=500)
    file_name: str = Field(default="", max_length=500)
    blob: BlobReference | None = None
    content_base64: str | None = Field(default=None, max_length=MAX_INLINE_BYTES * 4 // 3 + 4)
    access: AccessData | None = None


class CorpusData(_Strict):
    """What an event says of its corpus. Without `access` a new corpus lets nobody in, and one that is there keeps its list."""

    corpus: Slug
    name: str = Field(default="", max_length=200)
    access: AccessData | None = None


class _CloudEvent(BaseModel):
    """Unknown extension attributes are let through, as the standard asks."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    specversion: Literal["1.0"]
    id: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    source: Annotated[str, StringConstraints(min_length=1, max_length=500)]
    sequence: Annotated[int, Field(ge=1, lt=2**63)]


class DocumentEvent(_CloudEvent):
    type: DocumentEventType
    data: DocumentData

    @property
    def key(self) -> str:
        return document_key(self.data.corpus, self.data.external_id)


class CorpusEvent(_CloudEvent):
    type: CorpusEventType
    data: CorpusData

    @property
    def key(self) -> str:
        return self.data.corpus


def _kind(value: Any) -> str:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", "")
    return "corpus" if str(kind).startswith("corpus.") else "document"


IncomingEvent = Annotated[
    Union[Annotated[DocumentEvent, Tag("document")], Annotated[CorpusEvent, Tag("corpus")]],  # noqa: UP007
    Discriminator(_kind),
]
INCOMING: TypeAdapter[DocumentEvent | CorpusEvent] = TypeAdapter(IncomingEvent)


class OutcomeData(_Strict):
    """Ids, numbers and codes; never a title or a text."""

    document: str | None = None
    external_id: str | None = None
    version: int | None = None
    build: str | None = None
    code: str | None = None
    stage: str | None = None
    run: str | None = None


class OutcomeEvent(_Strict):
    """What is sent on `docmemo.events`."""

    specversion: Literal["1.0"] = "1.0"
    id: str
    source: str
    type: OutcomeType
    time: datetime
    subject: str
    datacontenttype: Literal["application/json"] = "application/json"
    data: OutcomeData


def parse_event(value: bytes, headers: Mapping[str, bytes] | None = None) -> DocumentEvent | CorpusEvent:
    """The typed event of a message. Raises `Permanent` with the cause: too_large, not_json or bad_event."""
    if len(value) > MAX_EVENT_BYTES:
        raise Permanent("too_large", f"The event has {len(value)} bytes; at most {MAX_EVENT_BYTES} are taken.")
    try:
        if headers and "ce_specversion" in headers:
            return INCOMING.validate_python(_from_binary_mode(value, headers))
        return INCOMING.validate_json(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        code = "not_json" if first["type"] == "json_invalid" else "bad_event"
        place = ".".join(str(part) for part in first["loc"] if part not in ("document", "corpus")) or "event"
        raise Permanent(code, f"{place}: {first['msg']}") from None


_JSON: TypeAdapter[Any] = TypeAdapter(Any)


def _from_binary_mode(value: bytes, headers: Mapping[str, bytes]) -> dict[str, Any]:
    attributes = {
        name[3:].lower(): content.decode("utf-8", "replace") for name, content in headers.items() if name.lower().startswith("ce_")
    }
    return {**attributes, "data": _JSON.validate_json(value)}


def document_key(corpus: str, external_id: str) -> str:
    """The message key: events of one document stay in order on one partition."""
    return f"{corpus}/{external_id}"
