"""Taking in folders and files from this machine, by the same way as every other document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from docmemo_site.terminal import wait_for_submissions
from ingestion.domain.errors import IngestionError
from ingestion.models import Corpus, Organisation
from ingestion.selectors.progress import Progress
from ingestion.services.corpora import corpus_create
from ingestion.services.documents import document_submit


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file and the external id that its document gets: its path relative to the folder that was given."""

    path: Path
    external_id: str


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a file. `state` is published, failed or quarantined; anything else means that the wait ended first."""

    path: str
    document: UUID | None
    version: int | None
    state: str
    reason: str
    pages: int | None


def files_of(paths: Sequence[Path]) -> tuple[list[LocalFile], list[Path]]:
    """The files to take in, and those in folders that are left out since they are not named `.pdf`.

    Raises `ValueError` for a path that is not there and for two files that would be the same document.
    """
    files: list[LocalFile] = []
    left_out: list[Path] = []
    for path in paths:
        if path.is_dir():
            for found in sorted(p for p in path.rglob("*") if p.is_file()):
                if found.suffix.lower() == ".pdf":
                    files.append(LocalFile(found, found.relative_to(path).as_posix()))
                elif not found.name.startswith("."):
                    left_out.append(found)
        elif path.is_file():
            files.append(LocalFile(path, path.name))
        else:
            raise ValueError(f"{path} is not there")
    seen: dict[str, Path] = {}
    for file in files:
        other = seen.setdefault(file.external_id, file.path)
        if other != file.path:
            raise ValueError(f"{other} and {file.path} would be the same document {file.external_id}; give them in two calls")
    return files, left_out


def corpus_ensure(organisation: Organisation, slug: str, allow: Sequence[str], actor: str) -> tuple[Corpus, bool]:
    """The corpus, and whether it was made now. A new one gets `allow` as its ceiling; none given lets nobody in."""
    found = Corpus.objects.filter(organisation=organisation, slug=slug).first()
    if found is not None:
        return found, False
    return corpus_create(actor=actor, organisation=organisation, slug=slug, allow=allow), True


def take_in(
    files: Sequence[LocalFile], corpus: Corpus, *, allow: Sequence[str], deny: Sequence[str], actor: str, seconds: float
) -> list[Taken]:
    """Hand the files in and wait, with progress, until each has ended. Lists that are not given stay as they are."""
    names: dict[UUID, str] = {}
    refused: dict[str, IngestionError] = {}
    sent: dict[str, UUID] = {}
    for file in files:
        try:
            event_id = document_submit(
                organisation=corpus.organisation, actor=actor, corpus=corpus, external_id=file.external_id, content=file.path,
                file_name=file.path.name, allow=tuple(allow) or None, deny=tuple(deny), keep_access=not (allow or deny),
                source="command-line",
            )  # fmt: skip
        except IngestionError as error:
            refused[file.external_id] = error
            continue
        names[event_id] = file.external_id
        sent[file.external_id] = event_id
    ended: dict[UUID, Progress] = {p.event_id: p for p in wait_for_submissions(names, seconds)} if names else {}
    return [_taken(file, ended.get(sent.get(file.external_id, UUID(int=0))), refused.get(file.external_id)) for file in files]


def _taken(file: LocalFile, progress: Progress | None, refusal: IngestionError | None) -> Taken:
    if refusal is not None:
        return Taken(str(file.path), None, None, "failed", f"{refusal.code}: {refusal.message}", None)
    assert progress is not None
    return Taken(str(file.path), progress.document, progress.version, progress.state, progress.reason, progress.pages)
