"""A quick embedder for drills that fails or hangs for as long as a file says so."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

from docmemo_site.embedded.home import write_private
from ingestion.domain.errors import failure
from ingestion.seams.page_embedder import PageEmbedding, PageInput
from ingestion.seams.page_embedder.fake import HashedWordsEmbedder

FILE = "embedder.json"


def embedder_tell(control: Path, mode: str, seconds: float) -> None:
    """Make every embedder of this home `fail` or `hang` from now on for so long; `met-MODE` appears once one has met that."""
    control.mkdir(parents=True, exist_ok=True)
    write_private(control / FILE, json.dumps({"mode": mode, "until": time.time() + seconds}))


class DrillEmbedder(HashedWordsEmbedder):
    """`control` is the folder of the file; no file means that all is well."""

    def __init__(self, control: str | Path) -> None:
        super().__init__()
        self.control = Path(control)

    def embed_pages(self, pages: Sequence[PageInput]) -> list[PageEmbedding]:
        told = self._told()
        if told is not None:
            mode, until = told
            (self.control / f"met-{mode}").touch()
            if mode == "fail":
                raise failure("embedder_failed", "told to fail")
            while time.time() < until:
                time.sleep(0.1)
        return super().embed_pages(pages)

    def _told(self) -> tuple[str, float] | None:
        try:
            said = json.loads((self.control / FILE).read_text())
        except FileNotFoundError:
            return None
        return (said["mode"], said["until"]) if time.time() < said["until"] else None
