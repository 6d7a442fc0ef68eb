"""publish: one transaction moves the live pointer; a reader never sees both builds, and never neither."""

from __future__ import annotations

import dataclasses

from ingestion.domain.errors import failure
from ingestion.domain.pages import TextSource
from ingestion.models import Build, Page, PageText
from ingestion.stages.contract import StageContext


@dataclasses.dataclass(frozen=True, slots=True)
class Checked:
    pages: int
    pages_with_text: int
    warnings: tuple[str, ...]


def run(context: StageContext) -> Checked:
    """Check that the build is whole: every page is there and was read, and there is something to answer from."""
    build = Build.objects.get(id=context.build_id)
    pages = Page.objects.filter(build=build)
    count = pages.count()
    if count != build.page_count or PageText.objects.filter(page__build=build).count() != count:
        raise failure("stage_failed", f"{count} of {build.page_count} pages were read")
    with_text = pages.exclude(text_source=TextSource.NONE.value).count()
    if not with_text and not pages.filter(blank=False).exclude(image_key="").exists():
        raise failure("no_content")
    warnings = [] if with_text else ["no_text_found"]
    return Checked(count, with_text, tuple(warnings))
