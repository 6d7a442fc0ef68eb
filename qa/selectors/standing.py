"""How pages that a run once saw stand towards a person now: open, superseded by a newer version, or not to be had."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from uuid import UUID

from ingestion.domain.evidence import Asker
from ingestion.models import Page
from ingestion.selectors.evidence import ALIAS, page_visible, snapshot
from ingestion.selectors.visibility import visible_classes


class Standing(StrEnum):
    """`gone` covers withdrawn, purged, forbidden and absent: a person cannot tell them apart."""

    OPEN = "open"
    SUPERSEDED = "superseded"
    GONE = "gone"

    @property
    def text_may_be_shown(self) -> bool:
        return self is not Standing.GONE


def standings(asker: Asker, page_ids: Iterable[UUID]) -> dict[UUID, Standing]:
    """The standing of each page now."""
    ids = list(dict.fromkeys(page_ids))
    if not ids:
        return {}
    live = page_visible(asker, ids)
    with snapshot(asker):
        readable = set(
            Page.objects.using(ALIAS)
            .filter(
                id__in=[page_id for page_id in ids if page_id not in live],
                access_class_id__in=visible_classes(asker, ALIAS),
                build__state="superseded",
                document__organisation_id=asker.organisation_id,
                document__deleted_at__isnull=True,
                document__corpus__deleted_at__isnull=True,
            )
            .values_list("id", flat=True)
        )
    return {
        page_id: Standing.OPEN if page_id in live else Standing.SUPERSEDED if page_id in readable else Standing.GONE
        for page_id in ids
    }
