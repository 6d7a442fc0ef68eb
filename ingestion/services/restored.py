"""After a restore: the act is recorded, and work that somebody was at when the backup was made is given back."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from ingestion.domain.lifecycle import StageState
from ingestion.models import Organisation, StageRun
from ingestion.services.audit import audit_append


@transaction.atomic
def installation_restored(*, made_at: datetime | str, actor: str) -> int:
    """Record in every organisation's chain that it goes on from a backup; ends the leases of workers that are no more.

    Returns how many stage runs were being worked on; the sweeper gives them back.
    """
    held = StageRun.objects.filter(state=StageState.RUNNING).update(lease_until=timezone.now())
    StageRun.objects.filter(state=StageState.PENDING).update(offered_at=None)
    for organisation in Organisation.objects.order_by("slug"):
        audit_append(organisation=organisation, act="backup.restored", subject="installation", actor=actor, body={"made_at": str(made_at)})
    return held
