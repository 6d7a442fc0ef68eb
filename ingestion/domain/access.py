"""The access rule, as a pure predicate.

Three levels: corpus, document, page. Each may carry an allow list and each that does must be met: the corpus is the
ceiling, a page may only narrow. Deny lists add up, and deny wins. A corpus without an allow list lets nobody in.
`ingestion/selectors/visibility.py` says the same in SQL; tests hold the two equal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

Tags = frozenset[UUID]


@dataclass(frozen=True, slots=True)
class AccessList:
    """One level's list. `allow` None means that this level does not narrow; an empty one lets nobody in."""

    allow: Tags | None = None
    deny: Tags = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True)
class AccessClause:
    """One interned combination of the three levels' lists."""

    corpus_allow: Tags
    document_allow: Tags | None = None
    page_allow: Tags | None = None
    deny: Tags = field(default_factory=frozenset)

    def digest(self) -> str:
        """The same for the same sets in any order; SHA-256, hexadecimal."""
        parts = (_canonical(self.corpus_allow), _canonical(self.document_allow), _canonical(self.page_allow), _canonical(self.deny))
        return hashlib.sha256("|".join(parts).encode()).hexdigest()


def _canonical(tags: Iterable[UUID] | None) -> str:
    return "-" if tags is None else ",".join(sorted(str(tag) for tag in tags))


def combine(corpus: AccessList, document: AccessList | None = None, page: AccessList | None = None) -> AccessClause:
    """The clause that the three levels' lists make together."""
    none = AccessList()
    document, page = document or none, page or none
    return AccessClause(
        corpus_allow=corpus.allow if corpus.allow is not None else frozenset(),
        document_allow=document.allow,
        page_allow=page.allow,
        deny=corpus.deny | document.deny | page.deny,
    )


def may_see(tags: Tags, clause: AccessClause) -> bool:
    """True when every allow list that is present shares a tag with `tags` and the deny list shares none."""
    allowed = (clause.corpus_allow, clause.document_allow, clause.page_allow)
    return all(tags & allow for allow in allowed if allow is not None) and not tags & clause.deny
