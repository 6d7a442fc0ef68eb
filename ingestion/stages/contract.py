"""What a stage is: frozen context in, typed result out.

`run` may look at the file, at rows of its own build and at the seams in its tools, and may put blobs under keys of its build (putting
the same again is a no-op). It changes no row: what it found is kept by `ingestion.services.stage_results`, under the run's lease,
replacing what an earlier attempt left, so that a stage that runs again changes nothing. Stages never read settings and never see
another build.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from ingestion.seams.blobs import Blobs
from ingestion.seams.page_embedder import PageEmbedder
from ingestion.seams.parser import Parser
from ingestion.seams.renderer import Limits, Renderer


@dataclass(frozen=True, slots=True)
class Tools:
    """The seams that stages work with."""

    blobs: Blobs
    renderer: Renderer
    parser: Parser
    embedder: PageEmbedder


@dataclass(frozen=True, slots=True)
class StageContext:
    """Everything a stage may know. `first_page` and `last_page` are 0 for a stage over the whole document."""

    organisation_id: UUID
    document_id: UUID
    version_id: UUID
    build_id: UUID
    pdf: Path
    first_page: int
    last_page: int
    language: str  # set by a person, or empty
    window: int
    long_side: int
    limits: Limits
    tools: Tools
    password: str | None = field(default=None, repr=False)  # opens an encrypted file; never shown, never logged

    @property
    def numbers(self) -> range:
        return range(self.first_page, self.last_page + 1)


@dataclass(frozen=True, slots=True)
class Stage:
    """A step of the pipeline. `priority` 9 goes first on its queue."""

    name: str
    queue: str
    by_window: bool
    run: Callable[[StageContext], Any]
    priority: int = 5
