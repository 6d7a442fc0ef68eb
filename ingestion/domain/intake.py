"""What a program may say of a document that it hands in over HTTP, and the states of an upload in parts.

    open ──► complete    all parts came and the document was handed in
     │
     └─────► abandoned   given up by its sender, or left alone for too long; its parts are removed
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from ingestion.domain.errors import Permanent
from ingestion.domain.events import Sha256, Slug, TagName

PLAIN = r"^[^\x00-\x1f\x7f]*$"
PlainText = Annotated[str, StringConstraints(max_length=500, pattern=PLAIN)]
PlainId = Annotated[str, StringConstraints(min_length=1, max_length=900, pattern=PLAIN)]
Password = Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00]*$")]


class UploadState(StrEnum):
    OPEN = "open"
    COMPLETE = "complete"
    ABANDONED = "abandoned"


class Submission(BaseModel):
    """Of which document these bytes are the newest version. Without `allow` and `deny` the list in force stays, or the source's own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    corpus: Slug
    external_id: PlainId
    title: PlainText = ""
    file_name: PlainText = ""
    allow: tuple[TagName, ...] | None = Field(default=None, max_length=500)
    deny: tuple[TagName, ...] | None = Field(default=None, max_length=500)
    password: Password = Field(default="", repr=False)


class UploadDeclaration(Submission):
    """An upload in parts: how many bytes are to come, and their SHA-256 where the sender knows it."""

    bytes: int = Field(ge=1, lt=2**53)
    sha256: Sha256 | None = None


Told = TypeVar("Told", bound=Submission)


def submission_parse(kind: type[Told], fields: object) -> Told:
    """The typed submission. Raises `Permanent("bad_request")` that names the field and never repeats its value."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "body"
        raise Permanent("bad_request", f"{place[:100]}: {first['msg']}") from None
