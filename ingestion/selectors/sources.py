"""Sources as those see them who set them up, and as the programs do that hand documents in with a token."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from ingestion.domain.lifecycle import InboxState
from ingestion.models import (
    ApiToken,
    Corpus,
    Document,
    InboxEvent,
    Organisation,
    OutboxEvent,
    Source,
    SourceConfiguration,
    Upload,
    User,
)
from ingestion.models.source import PUSH
from ingestion.selectors.visibility import managed_corpora

REFUSED_SHOWN = 50


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A source and how it stands. `documents` are those it ever handed in and has not taken back; `missing` those held."""

    id: UUID
    name: str
    kind: str
    corpus: str
    interval_seconds: int
    paused: bool
    allow: list[str] | None
    deny: list[str]
    documents: int
    refused: int
    missing: int
    outcome: str
    message: str
    last_started_at: datetime | None
    last_complete_at: datetime | None
    tokens: list[str]


def source_rows(organisation: Organisation) -> list[SourceRow]:
    """Every configured source of the organisation, by name."""
    found = SourceConfiguration.objects.filter(source__organisation=organisation).select_related("source", "corpus")
    return [_row(configuration) for configuration in found.order_by("source__name")]


def managed_sources(user: User) -> list[SourceRow]:
    """The configured sources of the corpora that the person manages, by name."""
    return [_row(configuration) for configuration in _managed(user).order_by("source__name")]


def managed_source(user: User, source_id: UUID) -> Source | None:
    """The configured source of a corpus that the person manages, or None: absent and forbidden are the same."""
    configuration = _managed(user).filter(source_id=source_id).first()
    return configuration.source if configuration else None


def refused_items(source: Source) -> list[tuple[str, str]]:
    """What the source offers and was not taken, the newest first: external id and reason, a bounded number."""
    refused = source.items.exclude(refusal="").order_by("-seen_at")
    return list(refused.values_list("external_id", "refusal")[:REFUSED_SHOWN])


def source_name_taken(organisation: Organisation, name: str) -> bool:
    """Whether any source of the organisation is registered under the name."""
    return Source.objects.filter(organisation=organisation, name=name).exists()


def _managed(user: User) -> QuerySet[SourceConfiguration]:
    return SourceConfiguration.objects.filter(corpus__in=managed_corpora(user)).select_related("source__organisation", "corpus")


def _row(configuration: SourceConfiguration) -> SourceRow:
    source = configuration.source
    return SourceRow(
        id=source.id,
        name=source.name,
        kind=configuration.kind,
        corpus=configuration.corpus.slug,
        interval_seconds=configuration.interval_seconds,
        paused=not configuration.enabled,
        allow=configuration.allow,
        deny=configuration.deny,
        documents=_documents(configuration),
        refused=source.items.exclude(refusal="").count(),
        missing=source.items.filter(missing_since__isnull=False).count(),
        outcome=configuration.last_outcome,
        message=configuration.last_message,
        last_started_at=configuration.last_started_at,
        last_complete_at=configuration.last_complete_at,
        tokens=sorted(valid_tokens().filter(source=source).values_list("name", flat=True)),
    )


def _documents(configuration: SourceConfiguration) -> int:
    if configuration.kind != PUSH:
        return configuration.source.items.filter(event_id__isnull=False).count()
    pushed = InboxEvent.objects.filter(source=configuration.source, state=InboxState.APPLIED).values("external_id")
    return Document.objects.filter(corpus=configuration.corpus, deleted_at__isnull=True, external_id__in=pushed).count()


def valid_tokens() -> QuerySet[ApiToken]:
    """Tokens that open something now."""
    in_time = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    return ApiToken.objects.filter(in_time, revoked_at__isnull=True, source__active=True)


def source_of_digest(digest: str) -> Source | None:
    """The source whose valid token has this digest."""
    token = valid_tokens().filter(digest=digest).select_related("source__organisation").first()
    return token.source if token else None


def writable_corpus(source: Source, slug: str) -> Corpus | None:
    """The corpus, if it is one that the source may write to; absent and forbidden are the same."""
    corpora = Corpus.objects.filter(organisation_id=source.organisation_id, slug=slug, deleted_at__isnull=True)
    if source.corpora.exists():
        corpora = corpora.filter(sources=source)
    return corpora.select_related("organisation").first()


def sent_by(source: Source, event_id: UUID) -> bool:
    """Whether the source handed in the event of this id."""
    return (
        InboxEvent.objects.filter(source=source, event_id=str(event_id)).exists()
        or OutboxEvent.objects.filter(id=event_id, payload__source=source.uri).exists()
    )


def upload_of(source: Source, upload_id: UUID) -> Upload | None:
    """The source's own upload of this id."""
    return Upload.objects.filter(id=upload_id, source=source).select_related("source__organisation", "corpus__organisation").first()
