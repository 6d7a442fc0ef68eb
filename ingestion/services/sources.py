"""Setting sources up and taking them away, and the tokens by which programs hand documents in."""

from __future__ import annotations

import hashlib
import re
import secrets as randomness
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from ingestion.models import ApiToken, Corpus, Source, SourceConfiguration, SourceItem
from ingestion.models.source import PUSH
from ingestion.seams.connector import Connector, Misconfigured, connector_for
from ingestion.services.audit import audit_append
from ingestion.services.documents import document_deletion_send, source_ensure

SLUG = re.compile(r"[-a-zA-Z0-9_]{1,60}")
MAX_INTERVAL = 7 * 24 * 60 * 60
TOKEN_PREFIX = "docmemo_"
OWN_DOORS = frozenset({"upload", "command-line"})  # sources that the product itself hands in as


@transaction.atomic
def source_configure(
    *,
    actor: str,
    corpus: Corpus,
    name: str,
    kind: str,
    options: Mapping[str, Any] | None = None,
    secrets: Mapping[str, str] | None = None,
    allow: Iterable[str] | None = None,
    deny: Iterable[str] = (),
    interval_seconds: int = 60,
) -> SourceConfiguration:
    """Register a source of a corpus, or change it; it may write to this corpus only. `kind` is `push` or one of CONNECTORS.

    `secrets` maps the connector's names of secrets to variables of the environment. `allow` and `deny` stand for the lists of its
    documents; with neither, documents are left to the corpus and to people. Raises `Misconfigured`.
    """
    if name in OWN_DOORS:
        raise Misconfigured(f"{name} is the name of a door of our own; choose another.")
    if not SLUG.fullmatch(name):
        raise Misconfigured("A source's name has at most 60 letters, digits, hyphens and underscores.")
    if not 1 <= interval_seconds <= MAX_INTERVAL:
        raise Misconfigured(f"The interval is 1 to {MAX_INTERVAL} seconds.")
    source = source_ensure(corpus.organisation, name)
    known = SourceConfiguration.objects.select_for_update().filter(source=source).first()
    if known is not None and known.corpus_id != corpus.id and source.items.exists():
        raise Misconfigured(f"{name} has documents in the corpus {known.corpus.slug}; remove it first, or add another source.")
    configuration = known or SourceConfiguration(source=source)
    configuration.kind, configuration.corpus = kind, corpus
    configuration.options, configuration.secrets = dict(options or {}), dict(secrets or {})
    configuration.allow = None if allow is None else sorted(set(allow))
    configuration.deny = sorted(set(deny))
    configuration.interval_seconds, configuration.enabled = interval_seconds, True
    configuration.next_due_at = timezone.now()
    if kind == PUSH:
        if configuration.options or configuration.secrets:
            raise Misconfigured("A source of the kind push takes no options and no secrets.")
    else:
        connector_of(configuration)  # wrong options are said now, not at three in the morning
    configuration.save()
    source.active = True
    source.save(update_fields=["active"])
    source.corpora.set([corpus])
    audit_append(
        organisation=corpus.organisation, act="source.configured", subject=str(source.id), actor=str(actor),
        body={"name": name, "kind": kind, "corpus": str(corpus.id), "allow": configuration.allow, "deny": configuration.deny},
    )  # fmt: skip
    return configuration


def connector_of(configuration: SourceConfiguration) -> Connector:
    """The connector of a source with its secrets from the environment. Raises `Misconfigured`."""
    found = {}
    for name, variable in configuration.secrets.items():
        if variable not in settings.SOURCE_SECRETS:
            raise Misconfigured(
                f"The secret {name} is to come from {variable}: that variable is not set, or does not begin with DOCMEMO_SOURCE_SECRET_."
            )
        found[name] = settings.SOURCE_SECRETS[variable]
    return connector_for(configuration.kind, configuration.options, found)


@transaction.atomic
def source_remove(*, actor: str, source: Source, withdraw: bool = False) -> int:
    """Forget a source: its settings, what was taken in from it, its tokens. Returns how many documents were taken back.

    Its documents stay, unless `withdraw`. The registered name stays, so that events still under way are put into effect.
    """
    configuration = SourceConfiguration.objects.select_for_update().get(source=source)
    gone = 0
    if withdraw:
        for external_id in source.items.filter(event_id__isnull=False).values_list("external_id", flat=True):
            document_deletion_send(
                actor=actor, corpus=configuration.corpus, external_id=document_id_of(source, external_id), source=source.name
            )
            gone += 1
    SourceItem.objects.filter(source=source).delete()
    source.tokens.filter(revoked_at__isnull=True).update(revoked_at=timezone.now())
    configuration.delete()
    audit_append(
        organisation=source.organisation, act="source.removed", subject=str(source.id), actor=str(actor),
        body={"name": source.name, "withdrawn": gone},
    )  # fmt: skip
    return gone


@transaction.atomic
def source_pause(*, actor: str, source: Source, paused: bool) -> bool:
    """Stop asking a source, or begin again; what is under way ends as it would. Documents stay as they are. False: it stood so."""
    standing = SourceConfiguration.objects.filter(source=source, enabled=paused)
    if not standing.update(enabled=not paused, next_due_at=timezone.now()):
        return False
    audit_append(
        organisation=source.organisation, act="source.paused" if paused else "source.resumed", subject=str(source.id),
        actor=str(actor), body={"name": source.name},
    )  # fmt: skip
    return True


@transaction.atomic
def source_ask_soon(*, actor: str, source: Source) -> bool:
    """Let the source be asked at the next turn; False when it is paused or sends by itself."""
    waiting = SourceConfiguration.objects.filter(source=source, enabled=True).exclude(kind=PUSH)
    if not waiting.update(next_due_at=timezone.now()):
        return False
    audit_append(
        organisation=source.organisation, act="source.asked", subject=str(source.id), actor=str(actor), body={"name": source.name}
    )
    return True


def document_id_of(source: Source, external_id: str) -> str:
    """The external id of an item's document: two sources of one corpus never write to the same document."""
    return f"{source.name}/{external_id}"


@transaction.atomic
def token_issue(*, actor: str, source: Source, name: str, expires_at: datetime | None = None) -> str:
    """A new token for this source. It is returned once and kept as a digest only."""
    token = TOKEN_PREFIX + randomness.token_urlsafe(32)
    row = ApiToken.objects.create(source=source, name=name, digest=token_digest(token), expires_at=expires_at)
    audit_append(
        organisation=source.organisation, act="token.issued", subject=str(row.id), actor=str(actor),
        body={"source": str(source.id), "name": name, "expires_at": expires_at},
    )  # fmt: skip
    return token


@transaction.atomic
def token_revoke(*, actor: str, source: Source, name: str) -> int:
    """End every token of this name; returns how many there were."""
    ended = source.tokens.filter(name=name, revoked_at__isnull=True).update(revoked_at=timezone.now())
    if ended:
        audit_append(
            organisation=source.organisation, act="token.revoked", subject=str(source.id), actor=str(actor),
            body={"name": name, "tokens": ended},
        )  # fmt: skip
    return ended


def token_digest(token: str) -> str:
    """What is kept of a token. It has 256 random bits, so a plain digest cannot be guessed back."""
    return hashlib.sha256(token.encode()).hexdigest()
