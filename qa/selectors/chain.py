"""The audit chain of an organisation, for its auditors: whether it is whole, and its entries."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.core.paginator import Page as PaginatedPage
from django.core.paginator import Paginator

from ingestion.models import AuditEntry, Organisation, User
from ingestion.services.audit import Finding, audit_verify

ENTRIES_A_PAGE = 100


@dataclass(frozen=True, slots=True)
class ChainState:
    """`findings` is empty when every link holds and the published heads agree. The head is the newest entry."""

    entries: int
    head: str
    findings: tuple[Finding, ...]

    @property
    def whole(self) -> bool:
        return not self.findings


def chain_state(organisation: Organisation) -> ChainState:
    """Walks the whole chain now."""
    findings = tuple(audit_verify(organisation))
    head = AuditEntry.objects.filter(organisation=organisation).order_by("-position").first()
    return ChainState(head.position if head else 0, head.entry_hash if head else "", findings)


def chain_entries(organisation: Organisation, page: str | int = 1) -> PaginatedPage:
    """The entries, newest first, each with `actor_name`."""
    shown = Paginator(AuditEntry.objects.filter(organisation=organisation).order_by("-position"), ENTRIES_A_PAGE).get_page(page)
    ids = [found for entry in shown if (found := _uuid(entry.actor))]
    names = dict(User.objects.filter(id__in=ids, organisation=organisation).values_list("id", "username"))
    for entry in shown:
        entry.actor_name = names.get(_uuid(entry.actor), entry.actor)
    return shown


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
