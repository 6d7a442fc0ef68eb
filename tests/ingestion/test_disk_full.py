"""A full disk: it is told before and noticed in the middle, nothing half is kept, and the work goes on once there is room."""

from __future__ import annotations

import base64
import errno
import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from django.conf import LazySettings
from django.db import OperationalError
from django.utils import timezone

from docmemo_site.doctor import _disk
from ingestion.domain.errors import NoRoom, Transient
from ingestion.models import Blob, DeadLetter, Document, InboxEvent, StageRun
from ingestion.seams import load
from ingestion.seams.blobs.filesystem import FilesystemBlobs
from ingestion.services.disk_room import no_room
from ingestion.services.jobs import runs_offer
from ingestion.stages import PIPELINE
from tests.ingestion.fakes import Workbench
from workers.consumer import Intake

ROOM_FOR_NOTHING = 1 << 60


class FillingStore(FilesystemBlobs):
    """The real store, on a disk that takes `left["files"]` more files and is full then; None is room for all."""

    def __init__(self, root: Path, left: dict[str, int | None]) -> None:
        super().__init__(root)
        self.left = left

    def put(self, key: str, source: Path | bytes) -> int:
        if self.left["files"] == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        if self.left["files"] is not None:
            self.left["files"] -= 1
        return super().put(key, source)


@pytest.fixture
def left(bench: Workbench, settings: LazySettings) -> dict[str, int | None]:
    """How many more files the disk takes."""
    room: dict[str, int | None] = {"files": None}
    options = {**settings.SEAMS["blobs"]["OPTIONS"], "left": room}
    settings.SEAMS = {**settings.SEAMS, "blobs": {"BACKEND": f"{__name__}.FillingStore", "OPTIONS": options}}
    load.cache_clear()
    return room


def go_on(bench: Workbench) -> None:
    """The pause is over: what the sweeper would offer is offered."""
    StageRun.objects.filter(state="pending").update(due_at=timezone.now() - timedelta(seconds=1), offered_at=None)
    for job_id in set(StageRun.objects.filter(state="pending").values_list("job_id", flat=True)):
        runs_offer(job_id)
    bench.work()


def test_no_document_is_taken_in_and_the_sentence_says_why(bench: Workbench, settings: LazySettings) -> None:
    settings.PIPELINE = {**settings.PIPELINE, "MIN_FREE_BYTES": ROOM_FOR_NOTHING}
    with pytest.raises(NoRoom, match=r"The disk that holds the stored files has only [\d,]+ MiB free"):
        bench.submit("text")
    assert not Blob.objects.exists() and not list(load("blobs").keys(""))


@pytest.mark.parametrize("stage", ["render", "read", "embed"])
def test_a_stage_that_writes_much_waits_without_an_attempt_and_goes_on(
    bench: Workbench, settings: LazySettings, stage: str
) -> None:
    bench.submit("one\ftwo\fthree")
    bench.deliver()
    before = [one.name for one in PIPELINE][: [one.name for one in PIPELINE].index(stage)]
    while StageRun.objects.exclude(state="done").filter(stage__in=before).exists():
        assert bench.work(1) == 1
    settings.PIPELINE = {**settings.PIPELINE, "MIN_FREE_BYTES": ROOM_FOR_NOTHING}
    for _ in range(6):  # more often than attempts are allowed
        go_on(bench)
    job = bench.newest_job()
    assert job.state == "running"
    held = StageRun.objects.filter(stage=stage, state="pending", reason_code="disk_full")
    assert held and all(run.attempts == 0 and "has only" in run.reason and run.due_at > timezone.now() for run in held)
    settings.PIPELINE = {**settings.PIPELINE, "MIN_FREE_BYTES": 0}
    go_on(bench)
    assert bench.newest_job().state == "published"


def test_a_write_that_ends_in_the_middle_leaves_no_half_and_the_job_goes_on(bench: Workbench, left: dict[str, int | None]) -> None:
    bench.submit("one\ftwo\fthree")
    bench.deliver()
    left["files"] = 1  # the first picture finds room, the second does not
    bench.work()
    held = StageRun.objects.filter(reason_code="disk_full")
    assert held and {(run.stage, run.state, run.attempts) for run in held} == {("render", "pending", 0)}
    assert bench.newest_job().state == "running" and Document.objects.get().live_build is None
    left["files"] = None
    go_on(bench)
    assert bench.newest_job().state == "published" and Document.objects.get().live_build.page_count == 3


def test_an_upload_that_finds_no_room_leaves_no_row(bench: Workbench, left: dict[str, int | None]) -> None:
    left["files"] = 0
    with pytest.raises(NoRoom):
        bench.submit("text")
    assert not Blob.objects.exists()


class OneMessage:
    """A bus that holds one message until it is committed."""

    def __init__(self, message) -> None:
        self.message, self.commits = message, 0

    def ensure_topics(self, topics) -> None:
        return

    def subscribe(self, group, topics):
        return self

    def poll(self, seconds, limit):
        return [] if self.commits else [self.message]

    def commit(self) -> None:
        self.commits += 1

    def lag(self) -> int:
        return 0 if self.commits else 1

    def close(self) -> None:
        return


def test_an_event_with_its_content_is_neither_lost_nor_dead(bench: Workbench, settings: LazySettings) -> None:
    bench.submit("text")
    message = bench.messages()[0]
    event = json.loads(message.value)
    event["data"] = {**event["data"], "blob": None, "content_base64": base64.b64encode(b"other text").decode()}
    bus = OneMessage(type(message)(message.topic, message.key, json.dumps(event).encode(), {}, 0, 77))
    intake = Intake(bus)
    settings.PIPELINE = {**settings.PIPELINE, "MIN_FREE_BYTES": ROOM_FOR_NOTHING}
    with pytest.raises(Transient):
        intake.step()
    assert (bus.commits, DeadLetter.objects.count(), InboxEvent.objects.count()) == (0, 0, 0)
    settings.PIPELINE = {**settings.PIPELINE, "MIN_FREE_BYTES": 0}
    intake.step()
    assert (bus.commits, DeadLetter.objects.count(), InboxEvent.objects.get().state) == (1, 0, "received")


LIMITED = """
import resource, sys
from pathlib import Path
sys.path.insert(0, {root!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
from ingestion.seams.blobs.filesystem import FilesystemBlobs
store = FilesystemBlobs({folder!r})
store.put("small", b"x" * 10)
try:
    store.put("a/large", b"x" * 1_000_000)
except OSError as error:
    print(error.errno, store.exists("a/large"), sorted(store.keys()))
"""


def test_a_file_that_the_system_cuts_off_is_not_kept(tmp_path: Path) -> None:
    root = str(Path(__file__).resolve().parents[2])
    script = LIMITED.format(root=root, folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split(maxsplit=1) == [str(errno.EFBIG), "False ['small']\n"]
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["small"]


def test_a_full_disk_of_the_database_is_recognised() -> None:
    error = OperationalError("could not extend file")
    error.__cause__ = psycopg.errors.DiskFull("could not extend file")
    assert isinstance(no_room(error), NoRoom)
    assert no_room(OSError(errno.EACCES, "Permission denied")) is None


def test_doctor_shows_it(bench: Workbench, settings: LazySettings) -> None:
    settings.PIPELINE = {**settings.PIPELINE, "MIN_FREE_BYTES": ROOM_FOR_NOTHING}
    found = [one for one in _disk() if one.name == "free disk"]
    assert len(found) == 3 and all(one.state == "missing" and "DOCMEMO_MIN_FREE_BYTES" in one.mend for one in found)
