"""Deleting a document for good: nothing that was made from it stays, and what is left can be counted.

The tombstone stays (ids, external id, revision), so that a late event of the document has no effect, and so do the entries of the audit
chain, which hold ids and salted hashes; the texts that they vouched for are erased with their salt.
"""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.db.models import Exists, Model, OuterRef

from ingestion.domain.errors import NeedsHuman
from ingestion.domain.events import document_key
from ingestion.domain.lifecycle import InboxState
from ingestion.models import AuditPayload, Blob, Build, Document, DocumentVersion, InboxEvent, OutboxEvent, Page
from ingestion.seams import load
from ingestion.seams.derived_store import registered
from ingestion.services.audit import audit_append, payloads_erase
from ingestion.services.retention import build_rows_delete

PARENTS: tuple[tuple[type[Model], str], ...] = ((Document, "document"), (Build, "build"), (Page, "page"))


def document_remains(document: Document) -> dict[str, int]:
    """How much still rests on the document, by table and store; every table that points at it, its builds or its pages is counted."""
    owned = {
        Document: [document.id],
        Build: list(Build.objects.filter(document=document).values_list("id", flat=True)),
        Page: list(Page.objects.filter(document=document).values_list("id", flat=True)),
    }
    remains: dict[str, int] = {}
    for parent, _ in PARENTS:
        for relation in parent._meta.get_fields(include_hidden=True):
            if relation.auto_created and not relation.concrete and relation.related_model not in (Document, None):
                rows = relation.related_model._default_manager.filter(**{f"{relation.field.name}__in": owned[parent]})
                table = relation.related_model._meta.db_table
                remains[table] = max(remains.get(table, 0), rows.count())
    for store in registered():
        remains[store.name] = store.count(document.id)
    quoting = AuditPayload.objects.filter(documents__contains=[str(document.id)], erased_at__isnull=True)
    remains["audit payloads"] = quoting.count()
    remains["stored files"] = sum(len(_pictures(document, build)) for build in owned[Build]) + len(_own_blobs(document))
    return {name: count for name, count in sorted(remains.items()) if count}


def _pictures(document: Document, build: UUID) -> list[str]:
    return list(load("blobs").keys(f"{document.organisation_id}/pages/{build}/"))


def _own_blobs(document: Document) -> list[Blob]:
    """Contents that no other document has and that no event on its way names."""
    elsewhere = DocumentVersion.objects.filter(blob=OuterRef("pk")).exclude(document=document)
    open_events = InboxEvent.objects.filter(
        source__organisation=document.organisation_id, state__in=[InboxState.RECEIVED, InboxState.WAITING]
    )
    under_way = set(open_events.values_list("payload__blob__sha256", flat=True))
    blobs = Blob.objects.filter(versions__document=document).exclude(Exists(elsewhere)).distinct()
    return [blob for blob in blobs if blob.sha256 not in under_way]


@transaction.atomic
def document_purge(*, document: Document, actor: str) -> dict[str, int]:
    """Remove everything that was made from a withdrawn document; returns what there was.

    Raises `NeedsHuman` for one that is not withdrawn.
    """
    document = Document.objects.select_for_update().select_related("corpus", "organisation").get(id=document.id)
    if document.deleted_at is None:
        raise NeedsHuman("not_withdrawn", "The document is still in use: withdraw it first, then delete it for good.")
    before = document_remains(document)
    for store in registered():
        store.purge(document.id)
    keys = [key for build in Build.objects.filter(document=document) for key in _pictures(document, build.id)]
    for build in Build.objects.filter(document=document):
        build_rows_delete(build)
    blobs = _own_blobs(document)
    DocumentVersion.objects.filter(document=document).delete()
    keys += [blob.key for blob in blobs]
    Blob.objects.filter(id__in=[blob.id for blob in blobs]).delete()
    document.access_assignments.all().delete()
    _events_forget(document)
    document.title = document.language = ""
    document.save(update_fields=["title", "language"])
    payloads_erase(organisation=document.organisation, document=document.id, actor=actor)
    audit_append(
        organisation=document.organisation, act="document.purged", subject=str(document.id), actor=actor, body={"removed": before}
    )
    transaction.on_commit(lambda: _files_delete(keys))
    return before


def _events_forget(document: Document) -> None:
    """Settled events carry title and file name; those on their way stay and meet the tombstone."""
    settled = [InboxState.APPLIED, InboxState.STALE]
    InboxEvent.objects.filter(
        source__organisation=document.organisation, corpus_slug=document.corpus.slug, external_id=document.external_id, state__in=settled
    ).delete()
    key = document_key(document.corpus.slug, document.external_id)
    OutboxEvent.objects.filter(key=key, published_at__isnull=False).delete()


def _files_delete(keys: list[str]) -> None:
    """A content that was handed in again meanwhile has a row again, and stays."""
    store = load("blobs")
    held = {blob.key for blob in Blob.objects.filter(sha256__in=[key.rsplit("/", 1)[-1] for key in keys])}
    for key in keys:
        if key not in held:
            store.delete(key)
