"""A large document in parts: begun, appended to at the offset that is expected, completed or given up.

Parts are kept in the blob store and counted by rows; nothing is lost when a connection breaks, since the sender asks for the offset
and goes on from there. Size, number and age are bounded; what is left alone is swept.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from ingestion.domain.errors import Permanent, Transient, failure
from ingestion.domain.intake import Submission, UploadDeclaration, UploadState
from ingestion.models import Blob, Corpus, Source, Upload, UploadPart
from ingestion.seams import load
from ingestion.seams.seal import SealBroken
from ingestion.services.documents import blob_store, document_submit


class WrongOffset(Permanent):
    """The part does not begin where the upload ends; `offset` is where it does."""

    def __init__(self, offset: int) -> None:
        super().__init__("wrong_offset", f"The upload holds {offset} bytes; go on from there.")
        self.offset = offset


def submission_access(source: Source, told: Submission) -> dict[str, Any] | None:
    """The whole list of a submission: as told, else the source's own; None leaves the list in force."""
    if told.allow is not None or told.deny is not None:
        return {"allow": None if told.allow is None else sorted(told.allow), "deny": sorted(told.deny or ())}
    configuration = getattr(source, "configuration", None)
    if configuration is None or (configuration.allow is None and not configuration.deny):
        return None
    return {"allow": configuration.allow, "deny": configuration.deny}


def submission_send(*, source: Source, corpus: Corpus, told: Submission, content: Path | bytes | Blob) -> UUID:
    """Hand in a document for a program; returns the event's id. Raises an `IngestionError` such as too_large."""
    return _send(
        source, corpus, content, external_id=told.external_id, file_name=told.file_name, title=told.title,
        access=submission_access(source, told), password=told.password,
    )  # fmt: skip


def _send(
    source: Source, corpus: Corpus, content: Path | bytes | Blob, *, external_id: str, file_name: str, title: str,
    access: Mapping[str, Any] | None, password: str,
) -> UUID:  # fmt: skip
    return document_submit(
        organisation=source.organisation, actor=f"source:{source.name}", corpus=corpus, external_id=external_id, content=content,
        file_name=file_name, title=title, allow=access["allow"] if access else None, deny=access["deny"] if access else (),
        keep_access=access is None, source=source.name, password=password,
    )  # fmt: skip


@transaction.atomic
def upload_begin(*, source: Source, corpus: Corpus, told: UploadDeclaration) -> Upload:
    """Announce a document in parts. Raises `too_large`, and `Transient("too_many_uploads")` when as many are open as may be."""
    limit = settings.PIPELINE["MAX_DOCUMENT_BYTES"]
    if told.bytes > limit:
        raise failure("too_large", f"{told.bytes} bytes; at most {limit} are taken")
    source = Source.objects.select_for_update(of=("self",)).select_related("organisation").get(id=source.id)  # counted one at a time
    if source.uploads.filter(state=UploadState.OPEN).count() >= settings.UPLOADS["MAX_OPEN"]:
        raise Transient("too_many_uploads", "As many uploads are open as one source may have; complete or give up some first.")
    return Upload.objects.create(
        source=source, corpus=corpus, external_id=told.external_id, file_name=told.file_name, title=told.title,
        access=submission_access(source, told), bytes=told.bytes, sha256=told.sha256 or "", touched_at=timezone.now(),
        sealed_password=load("seal").close(told.password) if told.password else None,
    )  # fmt: skip


def upload_append(*, upload: Upload, offset: int, content: bytes) -> int:
    """Add a part that begins at `offset`; returns where the next one begins.

    Raises `WrongOffset`, and `Permanent` with upload_closed, part_too_large or part_too_small.
    """
    bounds = settings.UPLOADS
    if len(content) > bounds["MAX_PART_BYTES"]:
        raise Permanent("part_too_large", f"A part has at most {bounds['MAX_PART_BYTES']} bytes.")
    digest = hashlib.sha256(content).hexdigest()
    with transaction.atomic():
        held = Upload.objects.select_for_update(of=("self",)).select_related("source").get(id=upload.id)
        if held.state != UploadState.OPEN:
            raise Permanent("upload_closed", f"The upload is {held.state}.")
        if offset != held.received:
            raise WrongOffset(held.received)
        end = offset + len(content)
        if end > held.bytes:
            raise Permanent("part_too_large", f"The upload was announced with {held.bytes} bytes; this part would end at {end}.")
        if not content or (end < held.bytes and len(content) < bounds["MIN_PART_BYTES"]):
            raise Permanent("part_too_small", f"A part has at least {bounds['MIN_PART_BYTES']} bytes, unless it is the last.")
        # the digest in the key: bytes that a crash left at this offset never stand for others
        key = f"{held.prefix}{offset:015d}-{digest}"
        load("blobs").put(key, content)
        UploadPart.objects.create(upload=held, offset=offset, bytes=len(content), key=key)
        held.received, held.touched_at = end, timezone.now()
        held.save(update_fields=["received", "touched_at"])
    return end


def upload_complete(*, upload: Upload) -> UUID:
    """Hand the whole document in; returns the event's id, the same one when it was complete already.

    Raises `Permanent` with upload_incomplete, upload_closed or wrong_sha256 (the upload is then given up), and what handing in raises.
    """
    if upload.state == UploadState.COMPLETE and upload.event_id is not None:
        return upload.event_id
    if upload.state != UploadState.OPEN:
        raise Permanent("upload_closed", f"The upload is {upload.state}.")
    if upload.received != upload.bytes:
        raise Permanent("upload_incomplete", f"{upload.received} of {upload.bytes} bytes have come.")
    with tempfile.TemporaryDirectory(prefix="docmemo-upload-") as folder:
        path = Path(folder) / "content"
        digest = _join(upload, path)
        if upload.sha256 and digest != upload.sha256:
            upload_abandon(upload=upload)
            raise Permanent("wrong_sha256", "The bytes that came are not those that were announced. Begin again.")
        blob = blob_store(upload.source.organisation, path)
    event_id = _hand_in(upload, blob)
    _parts_remove(upload)
    return event_id


def _join(upload: Upload, path: Path) -> str:
    """Write the parts one after the other; the SHA-256 of the whole."""
    blobs = load("blobs")
    with path.open("wb") as whole:
        for key in upload.parts.order_by("offset").values_list("key", flat=True):
            with blobs.open(key) as part:
                shutil.copyfileobj(part, whole, 1 << 20)
    with path.open("rb") as whole:
        return hashlib.file_digest(whole, "sha256").hexdigest()


@transaction.atomic
def _hand_in(upload: Upload, blob: Blob) -> UUID:
    held = Upload.objects.select_for_update(of=("self",)).select_related("source__organisation", "corpus").get(id=upload.id)
    if held.state == UploadState.COMPLETE and held.event_id is not None:  # completed twice at the same time
        return held.event_id
    if held.state != UploadState.OPEN:
        raise Permanent("upload_closed", f"The upload is {held.state}.")
    held.event_id = _send(
        held.source, held.corpus, blob, external_id=held.external_id, file_name=held.file_name, title=held.title,
        access=held.access, password=_password(held),
    )  # fmt: skip
    held.state, held.sealed_password = UploadState.COMPLETE.value, None
    held.save(update_fields=["state", "event_id", "sealed_password"])
    return held.event_id


def _password(upload: Upload) -> str:
    try:
        return load("seal").open(bytes(upload.sealed_password)) if upload.sealed_password else ""
    except SealBroken:  # SECRET_KEY was changed meanwhile; the document then ends as encrypted, and says what to do
        return ""


def upload_abandon(*, upload: Upload) -> bool:
    """Give an upload up and remove its parts; False when it was not open any more."""
    ended = Upload.objects.filter(id=upload.id, state=UploadState.OPEN).update(
        state=UploadState.ABANDONED.value, sealed_password=None, touched_at=timezone.now()
    )
    if ended:
        _parts_remove(upload)
    return bool(ended)


def _parts_remove(upload: Upload) -> None:
    blobs = load("blobs")
    for key in list(blobs.keys(upload.prefix)):
        blobs.delete(key)
    upload.parts.all().delete()


def uploads_sweep() -> int:
    """Give up what was left alone for too long, remove parts that a death left behind, and forget what ended long ago.

    Returns how many uploads were given up or had parts left.
    """
    too_old = timezone.now() - timedelta(seconds=settings.UPLOADS["MAX_IDLE_SECONDS"])
    left = Upload.objects.filter(state=UploadState.OPEN, touched_at__lt=too_old).select_related("source")
    swept = sum(upload_abandon(upload=upload) for upload in list(left[:500]))
    ended = Upload.objects.exclude(state=UploadState.OPEN).filter(parts__isnull=False).select_related("source").distinct()
    for upload in list(ended[:500]):
        _parts_remove(upload)
        swept += 1
    long_ago = timezone.now() - timedelta(seconds=settings.UPLOADS["KEPT_SECONDS"])
    Upload.objects.exclude(state=UploadState.OPEN).filter(parts__isnull=True, touched_at__lt=long_ago).delete()
    return swept
