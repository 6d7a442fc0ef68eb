"""Real workers on a real broker: they are heard of while they listen and no longer, and a process killed for memory ends in quarantine."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.management import call_command

from docmemo_site.settings.env import REPOSITORY, child_environment
from ingestion.models import StageRun, WorkerHeartbeat
from ingestion.seams import load
from ingestion.selectors.queues import queue_rows, statements
from ingestion.services.offers import due_offer
from tests.ingestion.fakes import Workbench
from workers.app import app
from workers.sweeper import sweep


def _until(true: Callable[[], bool], seconds: float = 90.0) -> bool:
    """Wait, bounded, for what another process does."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if true():
            return True
        time.sleep(0.1)
    return False


@pytest.fixture
def start(bench: Workbench, settings: LazySettings, celery_broker: str, tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen]]:
    settings.SEAMS = {
        **settings.SEAMS,
        "task_queue": {"BACKEND": "ingestion.seams.task_queue.celery_queue.CeleryQueue", "OPTIONS": {}},
    }
    load.cache_clear()
    app.conf.broker_url = celery_broker
    started: list[subprocess.Popen] = []

    def begin(queues: str) -> subprocess.Popen:
        log = (tmp_path / f"{queues}.log").open("w")
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "tests.workers.small_worker", queues, str(tmp_path), celery_broker],
                cwd=REPOSITORY, env=child_environment(), stdout=log, stderr=log,
            )  # fmt: skip
        )
        return started[-1]

    yield begin
    for one in started:
        one.kill()
        one.wait()
    with app.connection_for_write() as connection:
        for queue in settings.WORK["QUEUES"]:
            for step in range(10):
                connection.default_channel.client.delete(connection.default_channel._q_for_pri(queue, step))


def test_workers_are_heard_of_while_they_listen(bench: Workbench, start: Callable, settings: LazySettings) -> None:
    bench.submit("one page")
    bench.deliver()
    assert [sentence.split(".")[0] for sentence in statements()] == ["Queue cpu has 1 piece of work and no worker listens to it"]
    worker = start("cpu")
    assert _until(lambda: StageRun.objects.filter(stage="read", state="done").exists()), "it works, and is heard of"
    assert {row.name: row.workers for row in queue_rows()} == {
        "cpu": 1, "parse": 0, "embed": 0, "describe": 0, "publish": 0, "answer": 0,
    }  # fmt: skip
    # a worker listens, but to another queue: the work goes on to one that nobody hears
    assert _until(lambda: bool(statements()))
    assert statements()[0].startswith("Queue embed has 1 piece of work and no worker listens to it. Start one: ")
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command("workers", stdout=out)
    assert statements()[0] in out.getvalue()

    worker.send_signal(signal.SIGTERM)  # stops by itself: gone at once
    worker.wait(timeout=60)
    assert not WorkerHeartbeat.objects.exists()

    killed = start("cpu")
    assert _until(lambda: WorkerHeartbeat.objects.filter(queues=["cpu"]).exists())
    killed.kill()  # cannot say goodbye: its silence tells
    killed.wait()
    assert WorkerHeartbeat.objects.exists()
    settings.WORK = {**settings.WORK, "SILENT_AFTER_SECONDS": 0}
    assert {row.workers for row in queue_rows()} == {0}


def test_a_process_killed_for_memory_ends_in_quarantine_and_others_go_on(bench: Workbench, start: Callable, tmp_path: Path) -> None:
    (tmp_path / "poison").touch()
    bench.submit("a page that no process survives", "deadly.pdf")
    bench.deliver()
    poisoned = bench.newest_job()
    start("cpu,embed,describe,publish")

    def ended() -> bool:
        due_offer()
        poisoned.refresh_from_db()
        return poisoned.state == "quarantined"

    assert _until(ended)
    assert (poisoned.failed_stage, poisoned.reason_code) == ("inspect", "worker_killed")
    assert "signal 9" in poisoned.reason
    run = StageRun.objects.get(job=poisoned)
    assert [(kept["attempt"], kept["signal"]) for kept in run.evidence] == [(1, 9), (2, 9), (3, 9)]
    (tmp_path / "poison").unlink()
    sweep(3)
    bench.submit("a page like any other", "good.pdf")
    bench.deliver()
    good = bench.newest_job()

    def published() -> bool:
        good.refresh_from_db()
        return good.state == "published"

    assert _until(published)
    run.refresh_from_db()
    assert run.attempts == 3, "it never runs again by itself"


def test_the_depth_of_a_queue_is_what_waits_in_the_broker(bench: Workbench, start: Callable) -> None:
    queue = load("task_queue")
    assert queue.depth("parse") == 0
    for priority in (0, 5, 9):
        queue.enqueue("docmemo.none", ["x"], "parse", priority=priority)
    assert queue.depth("parse") == 3
