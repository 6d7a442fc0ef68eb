"""Granting and revoking by people who manage: a name put onto a level's list or taken off it, the rest of the list as it stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ingestion.domain.access import AccessList, Tags
from ingestion.domain.errors import NeedsHuman
from ingestion.models import AccessAssignment, Corpus, Document, Principal, RoleAssignment, User
from ingestion.services.access_preview import Preview, access_preview
from ingestion.services.corpora import access_put


class ChangeRefused(NeedsHuman):
    """The change was not made; the message says why. What is absent and what is not the manager's to change read the same."""


@dataclass(frozen=True, slots=True)
class Place:
    """The level that is changed."""

    corpus: Corpus
    document: Document | None = None
    page_number: int | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """Names to put on or take off. `narrow`: a level that does not narrow begins to; `widen`: its allow list is taken away whole."""

    grant: bool
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    narrow: bool = False
    widen: bool = False


def change_preview(*, manager: User, place: Place, change: Change) -> Preview:
    """What the change would do, with the digest that applying compares. Writes nothing. Raises `ChangeRefused`."""
    return access_preview(
        corpus=place.corpus, document=place.document, page_number=place.page_number, access=_changed(manager, place, change)
    )


def access_change(*, manager: User, place: Place, change: Change, seen: str | None = None) -> int:
    """Make the change; returns how many pages changed their class. Raises `ChangeRefused`, and `PreviewStale` for a digest of old."""
    access = _changed(manager, place, change)
    return access_put(
        actor=str(manager.id), corpus=place.corpus, document=place.document, page_number=place.page_number, access=access, seen=seen
    )


def list_in_force(place: Place) -> AccessList:
    """The level's list now; one that was never put does not narrow."""
    held = AccessAssignment.objects.filter(
        corpus=place.corpus, document=place.document, page_number=place.page_number, valid_to__isnull=True
    ).first()
    return held.as_list() if held else AccessList()


def _changed(manager: User, place: Place, change: Change) -> AccessList:
    if not RoleAssignment.objects.lets_manage(manager, place.corpus):
        raise ChangeRefused("not_found", "There is no such corpus among those that this person manages.")
    current = list_in_force(place)
    allow, deny = _tags(place.corpus, change.allow), _tags(place.corpus, change.deny)
    if change.grant:
        return _granted(place, current, allow, deny, change.narrow)
    return _revoked(place, current, allow, deny, change.widen)


def _granted(place: Place, current: AccessList, allow: Tags, deny: Tags, narrow: bool) -> AccessList:
    held = current.allow
    if held is None and place.document is None:
        held = frozenset()  # a corpus without an allow list lets nobody in, so nobody is shut out by one
    if held is None and allow and not narrow:
        raise ChangeRefused(
            "would_narrow", "This level does not narrow yet: an allow list here would shut out everyone else. Say so with narrow."
        )
    return AccessList(held if held is None and not narrow else (held or frozenset()) | allow, current.deny | deny)


def _revoked(place: Place, current: AccessList, allow: Tags, deny: Tags, widen: bool) -> AccessList:
    if widen and place.document is None:
        raise ChangeRefused("corpus_ceiling", "A corpus without an allow list lets nobody in; revoke the names instead.")
    missing = (allow - (current.allow or frozenset())) | (deny - current.deny)
    if missing:
        raise ChangeRefused("not_on_the_list", "A name that should be taken off does not stand on this list.")
    held = None if widen or current.allow is None else current.allow - allow
    return AccessList(held, current.deny - deny)


def _tags(corpus: Corpus, names: Iterable[str]) -> Tags:
    """The tags of these names; one that nobody has is refused, since it would silently let nobody in."""
    names = tuple(names)
    known = dict(Principal.objects.filter(organisation_id=corpus.organisation_id, name__in=names).values_list("name", "id"))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ChangeRefused("unknown_name", f"No person or group has the name {', '.join(unknown[:5])}.")
    return frozenset(known.values())
