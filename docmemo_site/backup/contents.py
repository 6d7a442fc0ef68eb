"""What a backup holds, and whether it still holds what its manifest says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FORMAT = 1
MANIFEST, DATABASE, BLOBS, HEADS = "manifest.json", "database.dump", "blobs", "heads"
BLOB_LIST = "blobs.jsonl"
# Made anew in every installation, or worth nothing without its secret key.
LEFT_OUT = ("django_session",)
Say = Callable[[str], Any]


class BackupError(Exception):
    """A backup could not be made, is not whole, or may not be restored here; the text is meant for a person."""


@dataclass(frozen=True)
class KeptFile:
    """A file of the backup by its path inside it."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Head:
    """Where the audit chain of an organisation stood."""

    organisation: str
    slug: str
    position: int
    hash: str


@dataclass(frozen=True)
class KeptBlob:
    key: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    docmemo: str
    made_at: str
    postgresql: str
    migrations: list[list[str]]
    files: list[KeptFile]
    blobs: int
    blob_bytes: int
    heads: list[Head]
    counts: dict[str, int] = field(default_factory=dict)
    format: int = FORMAT

    def as_text(self) -> str:
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def kept_file(folder: Path, name: str) -> KeptFile:
    """The entry of the manifest for a file that is in place."""
    path = folder / name
    return KeptFile(name, path.stat().st_size, sha256_of(path))


def manifest_read(folder: Path, digest: str = "") -> Manifest:
    """The manifest of a backup. With `digest`, the SHA-256 that was noted when it was made has to fit. Raises `BackupError`."""
    path = folder / MANIFEST
    if not path.is_file():
        partial = " Its name ends in .partial: it was never finished." if folder.name.endswith(".partial") else ""
        raise BackupError(f"{folder} holds no {MANIFEST}: it is no backup, or not a whole one.{partial}")
    text = path.read_text(encoding="utf-8")
    if digest and hashlib.sha256(text.encode()).hexdigest() != digest:
        raise BackupError(f"{path} is not the manifest whose SHA-256 was noted: it was changed, or belongs to another backup.")
    try:
        raw = json.loads(text)
        if raw["format"] != FORMAT:
            raise BackupError(f"{path} has format {raw['format']}; this DocMemo reads format {FORMAT}.")
        return Manifest(**{**raw, "files": [KeptFile(**f) for f in raw["files"]], "heads": [Head(**h) for h in raw["heads"]]})
    except (ValueError, KeyError, TypeError) as error:
        raise BackupError(f"{path} cannot be read ({error}).") from None


def blobs_listed(folder: Path) -> Iterator[KeptBlob]:
    """The stored files of the backup, in the order of their keys."""
    with (folder / BLOB_LIST).open(encoding="utf-8") as lines:
        for line in lines:
            yield KeptBlob(**json.loads(line))


def blob_path(folder: Path, key: str) -> Path:
    """Where the backup keeps a stored file; a key that would leave the backup is refused."""
    root = (folder / BLOBS).resolve()
    path = (root / key).resolve()
    if not path.is_relative_to(root) or path == root:
        raise BackupError(f"The list of stored files names {key!r}, which leaves the backup.")
    return path


def backup_verify(folder: Path, digest: str = "", say: Say = lambda _line: None) -> Manifest:
    """Read every file of the backup and hold it against the manifest; raises `BackupError` with the first reason."""
    manifest = manifest_read(folder, digest)
    say(f"checking {len(manifest.files)} files and {manifest.blobs} stored files")
    names = {file.path for file in manifest.files}
    for name in (DATABASE, BLOB_LIST, *(f"{HEADS}/{head.organisation}.jsonl" for head in manifest.heads)):
        if name not in names:
            raise BackupError(f"The manifest does not name {name}.")
    for file in manifest.files:
        _check(folder / file.path, file.bytes, file.sha256, file.path)
    for head in manifest.heads:
        _check_head(folder, head)
    _check_blobs(folder, manifest, say)
    return manifest


def _check(path: Path, size: int, sha256: str, name: str) -> None:
    if not path.is_file():
        raise BackupError(f"{name} is missing from the backup.")
    if path.stat().st_size != size:
        raise BackupError(f"{name} has {path.stat().st_size} bytes, and {size} were written.")
    if sha256_of(path) != sha256:
        raise BackupError(f"{name} was changed after it was written: its SHA-256 is another one.")


def _check_head(folder: Path, head: Head) -> None:
    """The head file has to reach the head that the manifest names: one that was cut would hide a cut chain."""
    heads: dict[int, str] = {}
    for line in (folder / HEADS / f"{head.organisation}.jsonl").read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
            heads.setdefault(int(record["position"]), str(record["hash"]))
        except (ValueError, KeyError, TypeError):
            raise BackupError(f"The audit heads of {head.slug} have a line that cannot be read.") from None
    if heads.get(head.position, "") != head.hash:
        raise BackupError(f"The audit heads of {head.slug} do not end with entry {head.position}, as the manifest says they do.")


def _check_blobs(folder: Path, manifest: Manifest, say: Say) -> None:
    count = total = 0
    for blob in blobs_listed(folder):
        _check(blob_path(folder, blob.key), blob.bytes, blob.sha256, f"The stored file {blob.key}")
        count, total = count + 1, total + blob.bytes
        if count % 1000 == 0:
            say(f"checked {count} of {manifest.blobs} stored files")
    if (count, total) != (manifest.blobs, manifest.blob_bytes):
        raise BackupError(f"The list names {count} stored files, and the manifest {manifest.blobs}.")
