"""Corpora and the access lists that people put on them and on what is in them."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from ingestion.domain.access import AccessList
from ingestion.models import Corpus, Document, Organisation
from ingestion.services.access import assignment_put, document_classes_apply, tags_named
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


@transaction.atomic
def access_replace(
    *,
    actor: str,
    corpus: Corpus,
    document: Document | None = None,
    page_number: int | None = None,
    allow: Iterable[str] | None,
    deny: Iterable[str] = (),
) -> int:
    """Put a level's whole list in force now; `allow` None means that the level does not narrow. Returns the pages it changed."""
    organisation = corpus.organisation
    access = AccessList(None if allow is None else tags_named(organisation, allow), tags_named(organisation, deny))
    documents = [document] if document else list(corpus.documents.filter(deleted_at__isnull=True).order_by("id"))
    for held in documents:  # the same lock that publishing takes
        Document.objects.select_for_update().get(id=held.id)
    if not assignment_put(corpus=corpus, document=document, page_number=page_number, access=access):
        return 0
    changed = sum(document_classes_apply(held) for held in documents)
    audit_append(
        organisation=organisation, act="access.replaced", subject=str((document or corpus).id), actor=str(actor),
        body={
            "page": page_number,
            "allow": None if access.allow is None else sorted(map(str, access.allow)),
            "deny": sorted(map(str, access.deny)),
        },
    )  # fmt: skip
    return changed
