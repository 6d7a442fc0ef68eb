"""render: a picture of each page of the window, kept in the blob store."""

from __future__ import annotations

import dataclasses
import hashlib
import tempfile
from pathlib import Path
from uuid import UUID

from ingestion.domain.pages import RenderedPage
from ingestion.stages.contract import StageContext


@dataclasses.dataclass(frozen=True, slots=True)
class KeptPicture:
    page: RenderedPage
    key: str
    sha256: str


def picture_key(organisation_id: UUID, build_id: UUID, number: int) -> str:
    """Where a page's picture is kept."""
    return f"{picture_prefix(organisation_id, build_id)}{number}.jpg"


def picture_prefix(organisation_id: UUID, build_id: UUID | str) -> str:
    """Where all pictures of a build are kept."""
    return f"{organisation_id}/pages/{build_id}/"


def run(context: StageContext) -> list[KeptPicture]:
    """Draw the window; a page that cannot be drawn has no key and says why in its warnings."""
    kept = []
    with tempfile.TemporaryDirectory(prefix="docmemo-render-") as folder:
        drawn = context.tools.renderer.render(
            context.pdf, list(context.numbers), Path(folder), context.long_side, context.limits, context.password
        )
        for page in drawn:
            if page.path is None:
                kept.append(KeptPicture(page, "", ""))
                continue
            path = Path(page.path)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            key = picture_key(context.organisation_id, context.build_id, page.number)
            context.tools.blobs.put(key, path)
            kept.append(KeptPicture(page, key, digest))
    return kept
