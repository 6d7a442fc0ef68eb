"""What a person who manages sees: corpora, documents, who may read them. Ids, titles and states; never the text of a page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

from django.core.paginator import Page as PaginatedPage
from django.core.paginator import Paginator
from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from ingestion.domain.cleaning import clean_line
from ingestion.domain.events import DOCUMENTS_TOPIC
from ingestion.domain.lifecycle import InboxState, JobState
from ingestion.models import (
    AccessAssignment,
    Corpus,
    Document,
    DocumentVersion,
    InboxEvent,
    Job,
    Organisation,
    OutboxEvent,
    Page,
    Principal,
    Role,
    User,
)
from ingestion.selectors.visibility import managed_corpora, principal_names, roles_of

DOCUMENTS_A_PAGE = 50
PAGES_A_PAGE = 100
ARRIVALS_SHOWN = 50
REFUSALS_SHOWN_FOR = timedelta(days=1)
OPEN_JOBS = (JobState.QUEUED.value, JobState.RUNNING.value)
FAILED_JOBS = (JobState.FAILED.value, JobState.QUARANTINED.value)


@dataclass(frozen=True, slots=True)
class Doors:
    """Which doors beside the portal stand open."""

    console: bool = False
    audit: bool = False


def doors_open_to(user: User) -> Doors:
    """The doors that the person's roles open."""
    roles = {role for role, _ in roles_of(user)}
    manages = {Role.ORGANISATION_ADMIN.value, Role.CORPUS_OWNER.value}
    return Doors(console=bool(roles & manages), audit=Role.AUDITOR.value in roles)


# --- what a person manages ---------------------------------------------------------------------------


def managed_corpus(user: User, corpus_id: UUID) -> Corpus | None:
    """The corpus, or None: absent and not his to manage are the same."""
    return next((corpus for corpus in managed_corpora(user) if corpus.id == corpus_id), None)


def managed_document(user: User, document_id: UUID) -> Document | None:
    """The document of a corpus that the person manages, or None."""
    return (
        Document.objects.filter(id=document_id, corpus__in=managed_corpora(user))
        .select_related("corpus", "organisation", "live_version", "live_build")
        .first()
    )


def managed_job(user: User, job_id: UUID) -> Job | None:
    """The job of a document that the person manages, or None."""
    return (
        Job.objects.filter(id=job_id, document__corpus__in=managed_corpora(user))
        .select_related("document__corpus", "version", "build")
        .first()
    )


def managed_submission(user: User, event_id: UUID) -> Corpus | None:
    """The corpus that a handed-in document goes to, when the person manages it; the same reads whether it is absent or forbidden."""
    if user.organisation is None:
        return None
    sent = OutboxEvent.objects.filter(
        id=event_id, topic=DOCUMENTS_TOPIC, payload__source__startswith=f"/docmemo/{user.organisation.slug}/"
    ).first()
    arrived = InboxEvent.objects.filter(event_id=str(event_id), source__organisation_id=user.organisation_id).first()
    slug = sent.payload.get("data", {}).get("corpus", "") if sent else arrived.corpus_slug if arrived else None
    return next((corpus for corpus in managed_corpora(user) if corpus.slug == slug), None)


# --- corpora -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CorpusRow:
    """A corpus with how many of its documents are live, under way, and failed in their newest job."""

    id: UUID
    slug: str
    name: str
    documents: int
    live: int
    working: int
    failed: int


def corpus_rows(user: User) -> list[CorpusRow]:
    """Every corpus that the person manages."""
    corpora = managed_corpora(user)
    newest = Job.objects.filter(document=OuterRef("pk")).order_by("-created_at").values("state")[:1]
    counts = {
        row["corpus_id"]: row
        for row in Document.objects.filter(corpus__in=corpora, deleted_at__isnull=True)
        .annotate(job_state=Subquery(newest))
        .values("corpus_id")
        .annotate(
            documents=Count("id"),
            live=Count("id", filter=Q(live_build__isnull=False)),
            working=Count("id", filter=Q(job_state__in=OPEN_JOBS)),
            failed=Count("id", filter=Q(job_state__in=FAILED_JOBS)),
        )
        .order_by()
    }
    empty = {"documents": 0, "live": 0, "working": 0, "failed": 0}
    rows = []
    for corpus in corpora:
        found = counts.get(corpus.id, empty)
        rows.append(CorpusRow(corpus.id, corpus.slug, corpus.name, **{name: found[name] for name in empty}))
    return rows


def corpus_slug_taken(organisation: Organisation, slug: str) -> bool:
    """Whether the organisation has, or had, a corpus of this slug."""
    return Corpus.objects.filter(organisation=organisation, slug=slug).exists()


# --- documents ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DocumentRow:
    id: UUID
    title: str
    external_id: str
    live_version: int | None
    newest_version: int | None
    pages: int | None
    job_id: UUID | None
    job_state: str
    reason: str
    updated_at: datetime
    withdrawn: bool


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """One page of a corpus's documents; `token` changes when anything that is shown does."""

    rows: tuple[DocumentRow, ...]
    page: PaginatedPage
    working: bool
    arrivals: tuple[Arrival, ...]
    token: str


@dataclass(frozen=True, slots=True)
class Arrival:
    """A document that was handed in and is not in the table yet, or was refused on the way."""

    event_id: UUID | None
    name: str
    state: str  # sent, received, waiting, dead
    reason: str
    at: datetime


STATES = {"live": Q(live_build__isnull=False), "working": Q(job_state__in=OPEN_JOBS), "failed": Q(job_state__in=FAILED_JOBS)}


def corpus_documents(corpus: Corpus, *, search: str = "", state: str = "", page: str | int = 1) -> DocumentTable:
    """The corpus's documents, changed last first; `search` looks in titles and external ids, `state` is one of `STATES`."""
    jobs = Job.objects.filter(document=OuterRef("pk")).order_by("-created_at")
    versions = DocumentVersion.objects.filter(document=OuterRef("pk")).order_by("-number")
    documents = (
        Document.objects.filter(corpus=corpus)
        .select_related("live_version", "live_build")
        .annotate(
            job_id=Subquery(jobs.values("id")[:1]),
            job_state=Subquery(jobs.values("state")[:1]),
            job_reason=Subquery(jobs.values("reason")[:1]),
            newest_version=Subquery(versions.values("number")[:1]),
        )
        .order_by("-updated_at", "id")
    )
    if search:
        documents = documents.filter(Q(title__icontains=search) | Q(external_id__icontains=search))
    if state in STATES:
        documents = documents.filter(STATES[state], deleted_at__isnull=True)
    shown = Paginator(documents, DOCUMENTS_A_PAGE).get_page(page)
    rows = tuple(_document_row(document) for document in shown)
    arrivals = _arrivals(corpus)
    working = any(row.job_state in OPEN_JOBS for row in rows) or any(a.state != InboxState.DEAD for a in arrivals)
    token = sha256(repr((rows, arrivals)).encode()).hexdigest()[:16]
    return DocumentTable(rows, shown, working, arrivals, token)


def _document_row(document: Document) -> DocumentRow:
    return DocumentRow(
        id=document.id,
        title=document.title,
        external_id=document.shown_id,
        live_version=document.live_version.number if document.live_version else None,
        newest_version=document.newest_version,
        pages=document.live_build.page_count if document.live_build else None,
        job_id=document.job_id,
        job_state=document.job_state or "",
        reason=document.job_reason or "",
        updated_at=document.updated_at,
        withdrawn=document.deleted_at is not None,
    )


def _arrivals(corpus: Corpus) -> tuple[Arrival, ...]:
    organisation = corpus.organisation
    sent = OutboxEvent.objects.filter(
        topic=DOCUMENTS_TOPIC, published_at__isnull=True, key__startswith=f"{corpus.slug}/",
        payload__source__startswith=f"/docmemo/{organisation.slug}/",
    )  # fmt: skip
    arrived = InboxEvent.objects.filter(source__organisation=organisation, corpus_slug=corpus.slug).filter(
        Q(state__in=[InboxState.RECEIVED, InboxState.WAITING])
        | Q(state=InboxState.DEAD, received_at__gt=timezone.now() - REFUSALS_SHOWN_FOR)
    )
    found = [
        Arrival(event.id, _name(event.payload.get("data", {})), "sent", "", event.created_at)
        for event in sent.order_by("-id")[:ARRIVALS_SHOWN]
    ]
    found += [
        Arrival(_uuid(event.event_id), _name(event.payload), event.state, event.reason, event.received_at)
        for event in arrived.order_by("-received_at")[:ARRIVALS_SHOWN]
    ]
    return tuple(found)


def _name(data: dict) -> str:
    return clean_line(data.get("title") or data.get("file_name") or data.get("external_id") or "", 1000)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def document_choices(corpus: Corpus, limit: int = 1000) -> list[tuple[str, str]]:
    """(id, title) of the corpus's documents, to choose one of which a new version is handed in."""
    documents = Document.objects.filter(corpus=corpus, deleted_at__isnull=True).order_by("title", "external_id")[:limit]
    return [(str(document.id), str(document)) for document in documents]


# --- one document ------------------------------------------------------------------------------------


def document_versions(document: Document) -> QuerySet[DocumentVersion]:
    """Newest first, with their builds."""
    return document.versions.order_by("-number").prefetch_related("builds")


def document_jobs(document: Document) -> QuerySet[Job]:
    """Newest first."""
    return document.jobs.select_related("version").order_by("-created_at")


def document_pages(document: Document, page: str | int = 1) -> PaginatedPage | None:
    """The live build's pages: numbers, labels, states."""
    if document.live_build_id is None:
        return None
    return Paginator(Page.objects.filter(build_id=document.live_build_id).order_by("number"), PAGES_A_PAGE).get_page(page)


# --- who may read ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AccessRow:
    """A level's list in force, by names; `allow` None means that the level does not narrow."""

    page_number: int | None
    allow: tuple[str, ...] | None
    deny: tuple[str, ...]


def access_lists(corpus: Corpus, document: Document | None = None) -> list[AccessRow]:
    """The corpus's list, or a document's own list and those of its pages; a level without a list is left out."""
    held = AccessAssignment.objects.filter(corpus=corpus, document=document, valid_to__isnull=True)
    held = held.order_by("page_number")
    rows = [
        AccessRow(item.page_number, None if item.allow is None else _names(corpus, item.allow), _names(corpus, item.deny))
        for item in held
    ]
    return sorted(rows, key=lambda row: row.page_number or 0)


def _names(corpus: Corpus, ids: list[UUID]) -> tuple[str, ...]:
    return tuple(principal_names(corpus.organisation_id, ids))


def unknown_names(organisation: Organisation, names: list[str]) -> list[str]:
    """Those of the names that no person or group of the organisation has."""
    known = set(Principal.objects.filter(organisation=organisation, name__in=names).values_list("name", flat=True))
    return [name for name in names if name not in known]


def group_names(organisation: Organisation, limit: int = 60) -> list[str]:
    """Names to choose from when a list is written: groups first, then people."""
    found = Principal.objects.filter(organisation=organisation).order_by("kind", "name").values_list("name", flat=True)
    return list(found[:limit])


def highest_page(document: Document) -> int:
    """The last page of the live build, 0 where none is live."""
    return Page.objects.filter(build_id=document.live_build_id).aggregate(last=Max("number"))["last"] or 0
