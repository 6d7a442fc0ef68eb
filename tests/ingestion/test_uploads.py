"""An upload in parts against a model of it: whatever is sent in whatever order, what is handed in is what was announced."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ingestion.domain.errors import Permanent
from ingestion.domain.intake import UploadDeclaration, UploadState
from ingestion.models import Blob, OutboxEvent, Upload, UploadPart
from ingestion.seams import load
from ingestion.services.sources import source_configure
from ingestion.services.uploads import (
    WrongOffset,
    upload_abandon,
    upload_append,
    upload_begin,
    upload_complete,
    uploads_sweep,
)
from tests.ingestion.fakes import Workbench

CONTENT = bytes(range(40))


@pytest.fixture
def small(bench: Workbench, settings: LazySettings) -> Iterator[Workbench]:
    settings.UPLOADS = {**settings.UPLOADS, "MIN_PART_BYTES": 4, "MAX_PART_BYTES": 16, "MAX_OPEN": 1000}
    yield bench


def begin(bench: Workbench) -> Upload:
    source = source_configure(actor="test", corpus=bench.corpus(), name="program", kind="push").source
    told = UploadDeclaration(corpus="library", external_id="a.pdf", bytes=len(CONTENT))
    return upload_begin(source=source, corpus=bench.corpus(), told=told)


STEPS = st.lists(
    st.tuples(st.just("append"), st.integers(0, 41), st.integers(0, 17))
    | st.tuples(st.just("append here"), st.integers(0, 17))
    | st.tuples(st.sampled_from(["complete", "abandon", "sweep", "age"])),
    max_size=14,
)


@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_any_order_of_steps_keeps_to_the_model(small: Workbench, steps: list[tuple]) -> None:
    OutboxEvent.objects.all().delete()
    Upload.objects.all().delete()
    upload, state, received = begin(small), "open", 0
    for name, *given_ in steps:
        upload.refresh_from_db()
        if name in ("append", "append here"):
            offset, size = given_ if name == "append" else (received, *given_)
            fits = size <= 16 and offset + size <= len(CONTENT) and size and (size >= 4 or offset + size == len(CONTENT))
            if state == "open" and offset == received and fits:
                assert upload_append(upload=upload, offset=offset, content=CONTENT[offset : offset + size]) == offset + size
                received += size
            else:
                with pytest.raises(Permanent):
                    upload_append(upload=upload, offset=offset, content=bytes(size))
        elif name == "complete":
            if state == "complete" or (state == "open" and received == len(CONTENT)):
                first = upload_complete(upload=upload)
                upload.refresh_from_db()
                assert upload_complete(upload=upload) == first
                state = "complete"
            else:
                with pytest.raises(Permanent):
                    upload_complete(upload=upload)
        elif name == "abandon":
            assert upload_abandon(upload=upload) == (state == "open")
            state = "abandoned" if state == "open" else state
        elif name == "age" and state == "open":
            Upload.objects.update(touched_at=timezone.now() - timedelta(days=2))
        elif name == "sweep" and uploads_sweep():
            state = "abandoned"
        upload.refresh_from_db()
        assert (upload.state, upload.received) == (state, received)
        parts = list(load("blobs").keys(upload.prefix))
        assert len(parts) == UploadPart.objects.count() and (state == "open" or not parts)
    events = OutboxEvent.objects.filter(topic="docmemo.documents")
    assert events.count() == (1 if state == "complete" else 0)
    if state == "complete":
        blob = Blob.objects.get(sha256=events.get().payload["data"]["blob"]["sha256"])
        assert load("blobs").open(blob.key).read() == CONTENT


def test_two_at_the_same_offset_one_is_taken(small: Workbench) -> None:
    upload, barrier, came = begin(small), threading.Barrier(2), []

    def append(content: bytes) -> None:
        try:
            barrier.wait(timeout=30)
            came.append((upload_append(upload=upload, offset=0, content=content), content))
        except WrongOffset as error:
            came.append((error.offset, None))
        finally:
            connection.close()

    threads = [threading.Thread(target=append, args=(letter * 10,)) for letter in (b"a", b"b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    taken = [content for offset, content in came if content]
    assert [offset for offset, _ in came] == [10, 10] and len(taken) == 1
    part = UploadPart.objects.get()
    assert load("blobs").open(part.key).read() == taken[0]


@pytest.mark.parametrize("before", list(UploadState))
@pytest.mark.parametrize("after", list(UploadState))
def test_the_database_allows_exactly_the_moves_that_are_drawn(small: Workbench, before: UploadState, after: UploadState) -> None:
    upload = begin(small)
    whole = {"received": len(CONTENT), "event_id": upload.id}
    Upload.objects.update(**whole)
    if before != UploadState.OPEN:
        Upload.objects.update(state=before.value)
    allowed = before in (after, UploadState.OPEN)
    try:
        with transaction.atomic():
            Upload.objects.update(state=after.value)
        assert allowed
    except IntegrityError:
        assert not allowed


def test_an_incomplete_upload_is_never_marked_complete(small: Workbench) -> None:
    begin(small)
    with pytest.raises(IntegrityError, match="upload_complete_is_whole"), transaction.atomic():
        Upload.objects.update(state=UploadState.COMPLETE.value)
