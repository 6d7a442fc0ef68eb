"""Forgetting a deleted document: every derived row, file, memory and payload of the life that its tombstone ended, with a receipt.

The tombstone itself stays: its external id and revision are what a late event is compared with. Access lists stay as intervals, since
they hold no content; the audit chain stays whole, since only payloads are erased, with their salt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.utils import timezone

from ingestion.domain.events import INTAKE_TOPICS, document_key
from ingestion.domain.lifecycle import InboxState
from ingestion.models import (
    Blob,
    Block,
    Build,
    BuildAccessCount,
    BuildLiveness,
    DeadLetter,
    Document,
    DocumentVersion,
    InboxEvent,
    Job,
    MultiVector,
    OutboxEvent,
    Page,
    PageText,
    Passage,
    PassageVector,
    PooledVector,
    Posting,
    Purge,
    SchemaFact,
    StageRun,
)
from ingestion.seams import load
from ingestion.seams.derived_store import registered
from ingestion.seams.task_queue import QueueUnavailable
from ingestion.services.audit import audit_append, payloads_erase
from ingestion.stages.render import picture_prefix

RUN_PURGE_TASK = "docmemo.purge"
OFFER_AGAIN_AFTER = timedelta(seconds=60)

# What is derived from a version, leaves first, and how each row leads to its version. A test walks the models and misses none.
DERIVED_ROWS: tuple[tuple[type[Model], str], ...] = (
    (Posting, "build__version"),
    (MultiVector, "build__version"),
    (PassageVector, "build__version"),
    (PooledVector, "build__version"),
    (Passage, "build__version"),
    (SchemaFact, "page__build__version"),
    (Block, "page__build__version"),
    (PageText, "page__build__version"),
    (Page, "build__version"),
    (BuildAccessCount, "build__version"),
    (BuildLiveness, "build__version"),
    (StageRun, "job__version"),
    (Job, "version"),
    (Build, "version"),
)


def purge_request(document: Document, through_revision: int) -> None:
    """Order the forgetting of everything up to this tombstone; a worker does it once the caller's transaction has committed.

    Ordered again, where something came late, it is done and confirmed again, and its receipt goes on counting.
    """
    again = {"requested_at": timezone.now(), "purged_at": None, "confirmed_at": None}
    purge, _ = Purge.objects.update_or_create(document=document, through_revision=through_revision, defaults=again)
    transaction.on_commit(lambda: purge_offer(purge.id))


def purge_offer(purge_id: UUID) -> bool:
    """Hand a purge to the task queue; the sweeper does what this misses."""
    Purge.objects.filter(id=purge_id).update(offered_at=timezone.now())
    try:
        load("task_queue").enqueue(RUN_PURGE_TASK, [str(purge_id)], "publish", priority=0)
    except QueueUnavailable:
        return False
    return True


def purges_offer_due() -> int:
    """Offer purges that nobody did yet, and those whose second look is due; returns how many."""
    now = timezone.now()
    grace = timedelta(seconds=2 * settings.PIPELINE["STAGE_SECONDS"] + settings.PIPELINE["LEASE_SECONDS"])
    due = Purge.objects.filter(confirmed_at__isnull=True).filter(Q(purged_at__isnull=True) | Q(purged_at__lt=now - grace))
    due = due.filter(Q(offered_at__isnull=True) | Q(offered_at__lt=now - OFFER_AGAIN_AFTER))
    return sum(purge_offer(purge_id) for purge_id in list(due.values_list("id", flat=True)[:200]))


def document_purge(purge_id: UUID) -> dict[str, int]:
    """Remove what is left of the document's life up to the tombstone; returns what was removed, by kind.

    It can be cut off anywhere and done again. The second time, when no worker can still be writing, it confirms the receipt.
    """
    purge = Purge.objects.select_related("document__organisation", "document__corpus").get(id=purge_id)
    document = purge.document
    versions = list(DocumentVersion.objects.filter(document=document, revision__lte=purge.through_revision))
    ids = frozenset(version.id for version in versions)
    builds = {str(build) for build in Build.objects.filter(version_id__in=ids).values_list("id", flat=True)} | set(purge.builds)
    Purge.objects.filter(id=purge.id).update(builds=sorted(builds))
    removed: Counter[str] = Counter()
    for store in registered():
        removed[store.name] += store.purge(document.id, ids)
    for model, lookup in DERIVED_ROWS:
        removed[model._meta.model_name] += _rows_delete(model, lookup, ids)
    removed["picture"] += _pictures_delete(document.organisation_id, builds)
    removed["documentversion"] += DocumentVersion.objects.filter(id__in=ids).delete()[1].get("ingestion.DocumentVersion", 0)
    contents = {version.content_sha256 for version in versions} | _contents_of_events(document, purge.through_revision)
    removed["blob"] += sum(blob_release(document, sha256, purge) for sha256 in sorted(contents))
    removed["event"] += _events_blank(document, purge.through_revision)
    removed["payload"] += payloads_erase(organisation=document.organisation, document=document.id, actor="purge")
    _receipt_write(purge, removed)
    return dict(removed)


def _rows_delete(model: type[Model], lookup: str, versions: frozenset[UUID]) -> int:
    if not versions:
        return 0
    with transaction.atomic():
        return model._default_manager.filter(**{f"{lookup}__in": versions}).delete()[1].get(model._meta.label, 0)


def _pictures_delete(organisation: UUID, builds: Iterable[str]) -> int:
    blobs, removed = load("blobs"), 0
    for build in builds:
        for key in list(blobs.keys(picture_prefix(organisation, build))):
            blobs.delete(key)
            removed += 1
    return removed


def blob_release(document: Document, sha256: str, purge: Purge) -> bool:
    """Remove stored bytes that nothing needs any more: no version, no event on its way, not handed in again since."""
    with transaction.atomic():
        blob = Blob.objects.select_for_update().filter(organisation_id=document.organisation_id, sha256=sha256).first()
        if blob is None or blob.touched_at > purge.requested_at or blob.versions.exists():
            return False
        if OutboxEvent.objects.filter(topic__in=INTAKE_TOPICS, received_at__isnull=True, payload__data__blob__sha256=sha256).exists():
            return False
        if InboxEvent.objects.filter(state__in=[InboxState.RECEIVED, InboxState.WAITING], payload__blob__sha256=sha256).exists():
            return False
        load("blobs").delete(blob.key)
        blob.delete()
    return True


def _events_of(document: Document, through_revision: int) -> QuerySet[InboxEvent]:
    return InboxEvent.objects.filter(
        source__organisation_id=document.organisation_id, corpus_slug=document.corpus.slug, external_id=document.external_id,
        revision__lte=through_revision,
    )  # fmt: skip


def _settled_events_of(document: Document, through_revision: int) -> QuerySet[InboxEvent]:
    return _events_of(document, through_revision).exclude(state__in=[InboxState.RECEIVED, InboxState.WAITING])


def _contents_of_events(document: Document, through_revision: int) -> set[str]:
    """Contents that came with an event and never became a version, since a newer event was in effect already."""
    found = _events_of(document, through_revision).values_list("payload__blob__sha256", flat=True)
    return {sha256 for sha256 in found if sha256}


def _events_blank(document: Document, through_revision: int) -> int:
    """Titles, file names and contents go from the events that brought the document; what they were, and when, stays."""
    organisation, slug = document.organisation, document.corpus.slug
    key = document_key(slug, document.external_id)
    blanked = 0
    for event in _settled_events_of(document, through_revision).exclude(payload__has_key="purged"):
        # the list stays: a late one of a lower revision is compared with it
        event.payload = {"purged": True, **{name: event.payload[name] for name in ("access",) if name in event.payload}}
        event.save(update_fields=["payload"])
        blanked += 1
    own = OutboxEvent.objects.filter(topic__in=INTAKE_TOPICS, key=key, received_at__isnull=False)
    for event in own.filter(payload__source__startswith=f"/docmemo/{organisation.slug}/", payload__sequence__lte=through_revision):
        data = event.payload["data"]
        if data.get("title") or data.get("file_name") or data.get("content_base64"):
            event.payload["data"] = {"corpus": slug, "external_id": document.external_id}
            event.save(update_fields=["payload"])
            blanked += 1
    mark = f"/docmemo/{organisation.slug}/".encode()
    for letter in DeadLetter.objects.filter(key=key.encode()).exclude(value=b""):
        if mark in bytes(letter.value):
            letter.value = b""
            letter.save(update_fields=["value"])
            blanked += 1
    return blanked


@transaction.atomic
def _receipt_write(purge: Purge, removed: Counter[str]) -> None:
    purge = Purge.objects.select_for_update().get(id=purge.id)
    first = purge.purged_at is None
    purge.removed = dict(sorted((Counter(purge.removed) + removed).items()))
    if first:
        purge.purged_at = timezone.now()
    elif purge.confirmed_at is None:
        purge.confirmed_at = timezone.now()
    purge.save()
    if first or +removed:
        audit_append(
            organisation=purge.document.organisation, act="document.purged", subject=str(purge.document_id), actor="purge",
            body={"through_revision": purge.through_revision, "removed": {kind: n for kind, n in removed.items() if n}},
        )  # fmt: skip


def document_remains(document: Document) -> dict[str, int]:
    """What of the document's ended lives is still held, by kind; empty when all of it is forgotten. This checks the receipt."""
    through = Document.objects.values_list("purged_through", flat=True).get(id=document.id)
    versions = frozenset(DocumentVersion.objects.filter(document=document, revision__lte=through).values_list("id", flat=True))
    found: Counter[str] = Counter({"documentversion": len(versions)})
    for store in registered():
        found[store.name] += store.count(document.id, versions)
    for model, lookup in DERIVED_ROWS:
        found[model._meta.model_name] += model._default_manager.filter(**{f"{lookup}__in": versions}).count()
    found["event"] += _settled_events_of(document, through).exclude(payload__has_key="purged").count()
    builds = {build for purge in document.purges.all() for build in purge.builds}
    blobs = load("blobs")
    found["picture"] += sum(1 for build in builds for _ in blobs.keys(picture_prefix(document.organisation_id, build)))
    return {kind: number for kind, number in found.items() if number}
