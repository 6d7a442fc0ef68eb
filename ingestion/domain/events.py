"""The events that documents arrive as: CloudEvents 1.0 in JSON, keyed by document.

    document.created | document.updated   content (inline or by reference to a blob of ours) and the whole access list
    document.deleted                      the tombstone
    document.access_changed               the whole access list, never a difference

`sequence` (a CloudEvents extension) is the document's revision: it only grows, and a lower one arriving late changes nothing
that a higher one has said.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from ingestion.domain.errors import Permanent

DOCUMENTS_TOPIC = "docmemo.documents"
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


class DocumentEvent(BaseModel):
    """One CloudEvent in structured mode; unknown extension attributes are let through, as the standard asks."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    specversion: Literal["1.0"]
    id: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    source: Annotated[str, StringConstraints(min_length=1, max_length=500)]
    type: EventType
    sequence: Annotated[int, Field(ge=1, lt=2**63)]
    data: DocumentData


def parse_event(value: bytes) -> DocumentEvent:
    """The typed event of a message's bytes. Raises `Permanent` with the cause: too_large, not_json or bad_event."""
    if len(value) > MAX_EVENT_BYTES:
        raise Permanent("too_large", f"The event has {len(value)} bytes; at most {MAX_EVENT_BYTES} are taken.")
    try:
        return DocumentEvent.model_validate_json(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        code = "not_json" if first["type"] == "json_invalid" else "bad_event"
        place = ".".join(str(part) for part in first["loc"]) or "event"
        raise Permanent(code, f"{place}: {first['msg']}") from None


def document_key(corpus: str, external_id: str) -> str:
    """The message key: events of one document stay in order on one partition."""
    return f"{corpus}/{external_id}"
