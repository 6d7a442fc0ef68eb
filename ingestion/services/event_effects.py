"""What an event does to its document or corpus. The caller holds the row's lock and has compared the revisions."""

from __future__ import annotations

from django.utils import timezone

from ingestion.domain.access import AccessList
from ingestion.domain.cleaning import clean_line
from ingestion.domain.events import AccessData, EventType
from ingestion.models import Blob, Corpus, Document, DocumentVersion, InboxEvent
from ingestion.services.access import assignment_put, document_classes_apply, tags_named
from ingestion.services.jobs import document_retire, job_start
from ingestion.services.pipeline import pipeline_fingerprint
from ingestion.services.purge import purge_request


def document_take_effect(event: InboxEvent, document: Document, *, content: bool = True, access: bool = True) -> str:
    """Change the document as those parts of the event say that are news; returns why it cannot, or an empty string."""
    if event.type == EventType.DELETED:
        document_delete(document, event.revision)
        return ""
    reference = event.payload.get("blob")
    if event.type != EventType.ACCESS_CHANGED and reference is None:
        return "no_content: the event carries neither a blob nor inline content"
    blob = None
    if reference is not None:
        blob = Blob.objects.filter(organisation_id=document.organisation_id, sha256=reference["sha256"]).first()
        if blob is None:
            return "unknown_blob: the blob is not one of this organisation's"
    lists = event.payload.get("access") if access else None
    if document.deleted_at is not None and not content:
        # kept on the tombstone, for a later life of the document
        _put_access(document, AccessData.model_validate(lists or {}))
        return ""
    document.deleted_at = None  # sent again after deletion: a new life under the same id
    if content or not document.title:
        title = event.payload.get("title") or document.title or event.payload.get("file_name") or document.external_id
        document.title = clean_line(title, 500)
    document.save()
    if lists is not None:
        _put_access(document, AccessData.model_validate(lists))
    if blob is not None and content:
        job_start(document=document, version=_version_for(event, document, blob), fingerprint=pipeline_fingerprint())
    return ""


def document_delete(document: Document, revision: int) -> None:
    """The tombstone: nothing of the document is live from now on, and everything that was made of it is purged soon after."""
    document_retire(document)
    document.deleted_at, document.title, document.purged_through = timezone.now(), "", revision
    document.save()
    purge_request(document, revision)


def corpus_take_effect(event: InboxEvent, corpus: Corpus) -> None:
    """Change the corpus as the event says."""
    if event.type == EventType.CORPUS_DELETED:
        corpus.deleted_at = timezone.now()
        for document in corpus.documents.select_for_update().filter(deleted_at__isnull=True).order_by("id"):
            document_delete(document, document.revision)
        return
    fresh = corpus.revision == 0 and not corpus.access_assignments.exists()
    corpus.deleted_at = None
    corpus.name = event.payload.get("name") or corpus.name
    access = event.payload.get("access")
    if access is None and not fresh:
        return
    lists = AccessData.model_validate(access or {"allow": []})
    organisation = corpus.organisation
    # a corpus without an allow list lets nobody in: null means the same as an empty one here
    ceiling = AccessList(tags_named(organisation, lists.allow or ()), tags_named(organisation, lists.deny))
    if assignment_put(corpus=corpus, document=None, page_number=None, access=ceiling):
        for document in corpus.documents.select_for_update().filter(deleted_at__isnull=True).order_by("id"):
            document_classes_apply(document)


def _put_access(document: Document, access: AccessData) -> None:
    organisation = document.organisation
    lists = AccessList(None if access.allow is None else tags_named(organisation, access.allow), tags_named(organisation, access.deny))
    wanted = None if lists == AccessList() else lists
    if assignment_put(corpus=document.corpus, document=document, page_number=None, access=wanted):
        document_classes_apply(document)


def _version_for(event: InboxEvent, document: Document, blob: Blob) -> DocumentVersion:
    """The newest version of this life of the document if its content is the same, else a new one."""
    newest = document.versions.filter(revision__gt=document.purged_through).order_by("-number").first()
    if newest is not None and newest.content_sha256 == blob.sha256:
        return newest
    document.versions_made += 1
    document.save(update_fields=["versions_made"])
    return DocumentVersion.objects.create(
        document=document,
        number=document.versions_made,
        revision=event.revision,
        blob=blob,
        content_sha256=blob.sha256,
        bytes=blob.bytes,
        file_name=event.payload.get("file_name", ""),
    )
