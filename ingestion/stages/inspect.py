"""inspect: what the file is, and a row for each of its pages."""

from __future__ import annotations

import dataclasses

from ingestion.domain.errors import failure
from ingestion.domain.pages import Inspection
from ingestion.stages.contract import StageContext


@dataclasses.dataclass(frozen=True, slots=True)
class Inspected:
    inspection: Inspection
    window: int


def run(context: StageContext) -> Inspected:
    """Look at the whole file. Raises the failure that a person reads when it cannot be taken."""
    inspection = context.tools.renderer.inspect(context.pdf, context.limits, context.password)
    if not inspection.pages:
        raise failure("no_pages")
    return Inspected(inspection, context.window)
