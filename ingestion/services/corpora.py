"""Corpora and the access lists that people put on them and on what is in them."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from ingestion.domain.access import AccessList
from ingestion.domain.errors import NeedsHuman
from ingestion.models import Corpus, Document, Organisation
from ingestion.services.access import assignment_put, document_classes_apply, tags_named
from ingestion.services.access_preview import Preview, access_preview, names_previewed
from ingestion.services.audit import audit_append


@transaction.atomic
def corpus_create(
    *, actor: str, organisation: Organisation, slug: str, name: str = "", allow: Iterable[str] = (), deny: Iterable[str] = ()
) -> Corpus:
    """A corpus with its ceiling: only who carries a tag of `allow` can ever read in it. An empty list lets nobody in."""
    corpus = Corpus.objects.create(organisation=organisation, slug=slug, name=name or slug)
    access = AccessList(tags_named(organisation, allow), tags_named(organisation, deny))
    assignment_put(corpus=corpus, document=None, page_number=None, access=access)
    audit_append(
        organisation=organisation, act="corpus.created", subject=str(corpus.id), actor=str(actor),
        body={"slug": slug, "allow": sorted(map(str, access.allow or ())), "deny": sorted(map(str, access.deny))},
    )  # fmt: skip
    return corpus


class PreviewStale(NeedsHuman):
    """What the person was shown would not be what happens now; `fresh` is what would. Nothing was written."""

    def __init__(self, fresh: Preview) -> None:
        super().__init__("preview_stale", "Something changed since the preview was made. Look at the new one.")
        self.fresh = fresh


@transaction.atomic
def access_replace(
    *,
    actor: str,
    corpus: Corpus,
    document: Document | None = None,
    page_number: int | None = None,
    allow: Iterable[str] | None,
    deny: Iterable[str] = (),
    seen: str | None = None,
) -> int:
    """Put a level's whole list in force now; `allow` None means that the level does not narrow. Returns the pages it changed.

    With `seen`, the digest of a preview, it raises `PreviewStale` where the effect would not be the one that was previewed.
    """
    organisation = corpus.organisation
    allow, deny = None if allow is None else tuple(allow), tuple(deny)
    if seen is not None:
        _locked(corpus, document)
        _assert_as_seen(corpus, document, page_number, names_previewed(organisation, allow, deny), seen)
    access = AccessList(None if allow is None else tags_named(organisation, allow), tags_named(organisation, deny))
    return access_put(actor=actor, corpus=corpus, document=document, page_number=page_number, access=access)


@transaction.atomic
def access_put(
    *, actor: str, corpus: Corpus, document: Document | None, page_number: int | None, access: AccessList, seen: str | None = None
) -> int:
    """`access_replace` with tags in place of names."""
    if document is not None and document.corpus_id != corpus.id:
        raise ValueError("the document is not of this corpus")
    if page_number is not None and document is None:
        raise ValueError("a page is one of a document")
    documents = _locked(corpus, document)
    if seen is not None:
        _assert_as_seen(corpus, document, page_number, access, seen)
    if not assignment_put(corpus=corpus, document=document, page_number=page_number, access=access):
        return 0
    changed = sum(document_classes_apply(held) for held in documents)
    audit_append(
        organisation=corpus.organisation, act="access.replaced", subject=str((document or corpus).id), actor=str(actor),
        body={
            "page": page_number,
            "allow": None if access.allow is None else sorted(map(str, access.allow)),
            "deny": sorted(map(str, access.deny)),
        },
    )  # fmt: skip
    return changed


def _locked(corpus: Corpus, document: Document | None) -> list[Document]:
    documents = [document] if document else list(corpus.documents.filter(deleted_at__isnull=True).order_by("id"))
    for held in documents:  # the same lock that publishing takes
        Document.objects.select_for_update().get(id=held.id)
    return documents


def _assert_as_seen(corpus: Corpus, document: Document | None, page_number: int | None, access: AccessList, seen: str) -> None:
    """Locks the organisation as every change of rights does, so that what is compared stays true until the list is in force."""
    Organisation.objects.select_for_update().get(id=corpus.organisation_id)
    fresh = access_preview(corpus=corpus, document=document, page_number=page_number, access=access)
    if fresh.digest != seen:
        raise PreviewStale(fresh)
