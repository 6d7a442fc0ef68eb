"""Documents that a question of the past never saw, of those that its asker may see now. Nobody is told of any other."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ingestion.domain.access import Tags
from ingestion.domain.evidence import Asker
from ingestion.models import BuildLiveness
from ingestion.selectors.as_of import shut_then
from ingestion.selectors.evidence import evidence_scope


@dataclass(frozen=True, slots=True)
class Newer:
    document_id: UUID
    title: str
    version: int


@dataclass(frozen=True, slots=True)
class Then:
    """What a question of the past could see: the corpus's epoch, the asker's tags, and the moment, for the lists in force."""

    epoch: int
    tags: Tags
    at: datetime


def evidence_newer(asker: Asker, corpus_slug: str, document_id: UUID | None, then: Then) -> list[Newer]:
    """Documents that the asker sees now and that were published since, or that the tags or the lists of then did not open to him.

    What he sees now comes through the door; of that, and of nothing else, it is asked when it came.
    """
    pins = evidence_scope(asker, corpus_slug, document_id).pins
    live = BuildLiveness.objects.filter(build_id__in=[pin.build_id for pin in pins], live_to__isnull=True)
    epochs = dict(live.values_list("build_id", "epoch"))
    shut = shut_then(asker.organisation_id, then.tags, then.at, [pin.document_id for pin in pins])
    came = [pin for pin in pins if epochs.get(pin.build_id, 0) > then.epoch or pin.document_id in shut]
    came.sort(key=lambda pin: epochs.get(pin.build_id, 0))
    return [Newer(pin.document_id, pin.title or pin.external_id, pin.version_number) for pin in came]
