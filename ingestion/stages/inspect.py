"""inspect: what the file is, and a row for each of its pages."""

from __future__ import annotations

import dataclasses

from ingestion.domain.errors import failure
from ingestion.domain.pages import Inspection
from ingestion.models import Build, Document, Page, StageRun
from ingestion.services.access import classes_for
from ingestion.stages.contract import StageContext


@dataclasses.dataclass(frozen=True, slots=True)
class Inspected:
    inspection: Inspection
    window: int


def run(context: StageContext) -> Inspected:
    """Look at the whole file. Raises the failure that a person reads when it cannot be taken."""
    inspection = context.tools.renderer.inspect(context.pdf, context.limits)
    if not inspection.pages:
        raise failure("no_pages")
    return Inspected(inspection, context.window)


def store(run_row: StageRun, result: Inspected) -> None:
    """Pages with their sizes and labels; they are visible to nobody before they are published."""
    inspection = result.inspection
    build = Build.objects.select_related("document").get(id=run_row.job.build_id)
    document = Document.objects.select_for_update().get(id=build.document_id)
    count = inspection.page_count
    build.page_count = count
    build.warnings = list(inspection.warnings)
    build.inspection = {
        "title": inspection.title,
        "outline": [[entry.title, entry.level, entry.page] for entry in inspection.outline],
        "attachments": list(inspection.attachments),
        "permissions_restricted": inspection.permissions_restricted,
        "repaired": inspection.repaired,
        "windows": [[first, min(first + result.window - 1, count)] for first in range(1, count + 1, result.window)],
    }
    build.save()
    classes = classes_for(document, [page.number for page in inspection.pages])
    Page.objects.bulk_create(
        [
            Page(
                build=build,
                document=document,
                number=page.number,
                label=page.label[:64],
                width=page.width,
                height=page.height,
                rotation=page.rotation,
                access_class=classes[page.number],
            )
            for page in inspection.pages
        ],
        batch_size=1000,
        update_conflicts=True,
        unique_fields=["build", "number"],
        update_fields=["label", "width", "height", "rotation", "access_class"],
    )
