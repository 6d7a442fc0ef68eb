"""What a directory of people tells: events in a format of our own, close to SCIM. Pure types; the service checks and writes.

A group's event is its WHOLE membership list at a revision. What could not be read is said so (`group.unavailable`), never sent as an
empty list.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

FORMAT = "docmemo.directory/1"
Key = Annotated[str, Field(min_length=1, max_length=200)]
Name = Annotated[str, Field(min_length=1, max_length=150)]
MAX_MEMBERS = 50_000


class _Event(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Member(_Event):
    """A person or a group, by the directory's own key; one of the two."""

    user: Key | None = None
    group: Key | None = None

    def model_post_init(self, _context: Any) -> None:
        if (self.user is None) == (self.group is None):
            raise ValueError("a member is a user or a group")


class GroupMembers(_Event):
    type: Literal["group.members"]
    group: Key
    name: Name
    revision: Annotated[int, Field(ge=0)]
    members: Annotated[tuple[Member, ...], Field(max_length=MAX_MEMBERS)]


class GroupUnavailable(_Event):
    """The directory would not give the group: 403, 404, a timeout. It is not the same as a group that is gone."""

    type: Literal["group.unavailable"]
    group: Key
    status: Annotated[str, Field(max_length=40)] = ""


class GroupDeleted(_Event):
    type: Literal["group.deleted"]
    group: Key
    revision: Annotated[int, Field(ge=0)]


class UserPresent(_Event):
    """A person of the directory, with an open account; `username` is the account's name here."""

    type: Literal["user.created", "user.activated"]
    user: Key
    username: Name
    name: Annotated[str, Field(max_length=200)] = ""
    revision: Annotated[int, Field(ge=0)]


class UserDeactivated(_Event):
    type: Literal["user.deactivated"]
    user: Key
    revision: Annotated[int, Field(ge=0)]


DirectoryEvent = Annotated[
    GroupMembers | GroupUnavailable | GroupDeleted | UserPresent | UserDeactivated, Field(discriminator="type")
]


class Envelope(BaseModel):
    """A file of events. `read_at` is when the directory was read: rights are as old as that, however late the file is applied."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["docmemo.directory/1"]
    source: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,20}$")]
    read_at: AwareDatetime
    events: list[dict[str, Any]]


class Claims(BaseModel):
    """What an OpenID provider says of a person at sign-in. `groups` None: it says nothing of groups, or not of all of them."""

    model_config = ConfigDict(frozen=True)

    subject: Key
    issued_at: datetime
    groups: Annotated[tuple[Name, ...], Field(max_length=2000)] | None = None


def claims_of(token: dict[str, Any], issued_at: datetime) -> Claims:
    """The claims of a token that was verified. A provider that leaves groups out when there are too many says so in `_claim_names`."""
    partial = "groups" in (token.get("_claim_names") or {}) or bool(token.get("hasgroups"))
    groups = None if partial or "groups" not in token else token["groups"]
    return Claims(subject=token.get("sub") or "", issued_at=issued_at, groups=groups)
