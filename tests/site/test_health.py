"""Health: alive, ready with causes, metrics that name nobody; who is told what; and that every metric stands in the docs."""

from __future__ import annotations

import re
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.db import OperationalError, connections
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from docmemo_site import doctor
from docmemo_site.health import metrics, readiness
from docmemo_site.health.readiness import Check, NotReady, Prober
from ingestion.models import InboxEvent, Job, StageRun
from ingestion.seams import load
from ingestion.seams.event_bus import BusUnavailable
from ingestion.seams.task_queue import QueueUnavailable
from ingestion.services.heartbeats import worker_seen
from ingestion.services.job_control import job_pause
from tests.ingestion.fakes import Workbench, bench

__all__ = ["bench"]
DOCS = (Path(__file__).resolve().parents[2] / "ops" / "health.md").read_text(encoding="utf-8")
STRANGER = {"REMOTE_ADDR": "192.0.2.7"}
TOKEN = "a long enough token for a test"


class Away:
    """A broker that is not there."""

    def depth(self, _queue: str) -> int:
        raise QueueUnavailable("redis://:secret@127.0.0.1:1 refused")

    def check(self, _seconds: float) -> None:
        raise BusUnavailable("secret.example:9092 refused")


class Here:
    def check(self, _seconds: float) -> None:
        return


@pytest.fixture
def bus_here(bench: Workbench, settings: LazySettings) -> None:
    settings.SEAMS = {**settings.SEAMS, "event_bus": {"BACKEND": "tests.site.test_health.Here"}}
    load.cache_clear()


def _values(bench: Workbench) -> dict[str, dict[tuple, float]]:
    text = Client().get("/metrics").content.decode()
    found: dict[str, dict[tuple, float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found


# --- alive and ready ---------------------------------------------------------------------------------


def test_alive_asks_nothing(settings: LazySettings) -> None:
    answer = Client().get("/healthz", **STRANGER)  # without a database fixture: a query would raise
    assert (answer.status_code, answer.content) == (200, b"ok\n")


def test_ready_when_everything_answers(bench: Workbench, bus_here: None) -> None:
    answer = Client().get("/readyz")
    assert answer.status_code == 200, answer.content
    said = answer.json()
    assert {check["name"] for check in said["checks"]} == set(readiness.CHECKS) and said["ready"] is True


def test_not_ready_says_what_is_down_and_no_secret(bench: Workbench, bus_here: None, settings: LazySettings) -> None:
    settings.SEAMS = {
        **settings.SEAMS,
        "task_queue": {"BACKEND": "tests.site.test_health.Away"},
        "event_bus": {"BACKEND": "tests.site.test_health.Away"},
        "blobs": {"BACKEND": "ingestion.seams.blobs.filesystem.FilesystemBlobs", "OPTIONS": {"root": Path("/proc/no/such")}},
    }
    load.cache_clear()
    answer = Client().get("/readyz")
    assert answer.status_code == 503
    down = {check["name"] for check in answer.json()["checks"] if check["state"] == "down"}
    assert down == {"broker", "event_bus", "blobs"}
    assert "secret" not in answer.content.decode()
    for alias in ("default", "evidence"):
        assert settings.DATABASES[alias]["PASSWORD"] not in answer.content.decode()


def test_a_database_that_is_away_is_told_without_its_address(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed:
        def __getitem__(self, alias: str) -> None:
            raise OperationalError("connection to db.secret.example failed for user docmemo_writer")

    monkeypatch.setattr(readiness, "connections", Closed())
    with pytest.raises(NotReady, match="^the database connection default cannot be made$"):
        readiness._database()
    with pytest.raises(NotReady, match="^the database cannot be asked$"):
        readiness._migrations()


def test_a_migration_that_is_missing_is_told(bench: Workbench) -> None:
    with connections["migrator"].cursor() as cursor:
        cursor.execute(
            "delete from django_migrations where id = (select max(id) from django_migrations where app = 'ingestion') "
            "returning id, app, name, applied"
        )
        row = cursor.fetchone()
        try:
            with pytest.raises(NotReady, match="1 migrations are not applied"):
                readiness._migrations()
        finally:
            cursor.execute("insert into django_migrations values (%s, %s, %s, %s)", row)


def test_a_check_that_hangs_is_bounded_and_does_not_pile_up() -> None:
    release, begun = threading.Event(), []

    def hang() -> None:
        begun.append(1)
        release.wait(60)

    def broken() -> None:
        raise ZeroDivisionError

    prober = Prober({"hangs": hang, "broken": broken, "well": lambda: None}, seconds=0.3)
    try:
        for _ in range(3):
            assert prober.look() == [
                Check("hangs", "down", "no answer within 0 seconds"),
                Check("broken", "down", "the check broke: ZeroDivisionError"),
                Check("well", "ok", ""),
            ]
        assert len(begun) == 1
    finally:
        release.set()


# --- who is told what --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("meta", "trusted"),
    [
        ({"REMOTE_ADDR": "127.0.0.1"}, True),
        ({"REMOTE_ADDR": "::1"}, True),
        ({"REMOTE_ADDR": "192.0.2.7"}, False),
        ({"REMOTE_ADDR": ""}, False),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "192.0.2.7"}, False),
        ({"REMOTE_ADDR": "192.0.2.7", "HTTP_X_FORWARDED_FOR": "127.0.0.1"}, False),
        ({"REMOTE_ADDR": "192.0.2.7", "HTTP_AUTHORIZATION": f"Bearer {TOKEN}"}, True),
        ({"REMOTE_ADDR": "192.0.2.7", "HTTP_AUTHORIZATION": "Bearer wrong"}, False),
        ({"REMOTE_ADDR": "192.0.2.7", "HTTP_AUTHORIZATION": "Bearer "}, False),
    ],
)
def test_details_are_for_this_machine_or_with_the_token(
    bench: Workbench, bus_here: None, settings: LazySettings, meta: dict, trusted: bool
) -> None:
    settings.METRICS_TOKEN = TOKEN
    client = Client()
    assert client.get("/metrics", **meta).status_code == (200 if trusted else 404)
    ready = client.get("/readyz", **meta)
    assert ready.status_code == 200
    assert (ready.content == b"ready\n") is not trusted


def test_an_empty_token_opens_nothing(bench: Workbench, bus_here: None, settings: LazySettings) -> None:
    settings.METRICS_TOKEN = ""
    assert Client().get("/metrics", HTTP_AUTHORIZATION="Bearer ", **STRANGER).status_code == 404


# --- metrics -----------------------------------------------------------------------------------------


def test_metrics_say_how_the_work_stands(bench: Workbench) -> None:
    bench.publish("a text", "done.pdf")
    bench.publish(b"FAIL corrupt", "bad.pdf")
    for number in range(3):
        bench.submit(f"text {number}", f"{number}.pdf")
    bench.deliver()
    job_pause(job=bench.newest_job(), actor="test")
    held = StageRun.objects.filter(job__paused_at__isnull=True, state="pending").first()
    StageRun.objects.filter(id=held.id).update(state="running", lease_until=timezone.now() - timedelta(minutes=1))
    StageRun.objects.filter(state="pending").update(due_at=timezone.now() - timedelta(minutes=2))
    bench.submit("one more", "more.pdf")
    for message in bench.messages():
        from ingestion.services.events import event_receive

        event_receive(message)
    worker_seen(name="a", queues=["publish"], processes=3)
    found = _values(bench)
    cpu, publish = (("queue", "cpu"),), (("queue", "publish"),)
    assert found["docmemo_queue_waiting"][cpu] == 1 and found["docmemo_queue_running"][cpu] == 1
    assert found["docmemo_queue_oldest_seconds"][cpu] >= 120
    assert found["docmemo_queue_unattended"][cpu] == 1 and found["docmemo_queue_unattended"][publish] == 0
    assert found["docmemo_queue_workers"][publish] == 1 and found["docmemo_queue_processes"][publish] == 3
    assert found["docmemo_jobs_open"] == {(("state", "queued"),): 2, (("state", "running"),): 0, (("state", "paused"),): 1}
    assert found["docmemo_jobs_failed_recently"] == {(("code", "corrupt"), ("stage", "inspect")): 1}
    assert found["docmemo_leases"] == {(("state", "running"),): 0, (("state", "expired"),): 1}
    assert found["docmemo_inbox_backlog"][()] == 1 and found["docmemo_outbox_backlog"][()] >= 2
    assert found["docmemo_stage_seconds_recently_bucket"][(("le", "+Inf"), ("stage", "publish"))] == 1
    assert found["docmemo_database_answered"][()] == 1


def test_metrics_name_no_document_person_or_corpus(bench: Workbench) -> None:
    corpus = bench.corpus("quarterly-plans")
    bench.publish("a text", "merger-with-initech.pdf", corpus=corpus, title="Merger with Initech")
    bench.submit("text", "layoffs.pdf", corpus=corpus)
    bench.deliver()
    Job.objects.filter(state="queued").update(reason_code="x")
    text = Client().get("/metrics").content.decode()
    cast = bench.cast
    for name in ("merger", "initech", "layoffs", "quarterly", cast.organisation.slug, cast.alice.username, "library"):
        assert name.lower() not in re.sub(r"^#.*$", "", text, flags=re.MULTILINE).lower(), name
    labels = set(re.findall(r'(\w+)="', text))
    assert labels <= {"queue", "stage", "state", "code", "le"}


def test_an_unknown_code_or_stage_makes_no_new_label(bench: Workbench) -> None:
    bench.publish(b"FAIL corrupt", "bad.pdf")
    Job.objects.update(reason_code="made_up_77", failed_stage="somewhere")
    assert _values(bench)["docmemo_jobs_failed_recently"] == {(("code", "other"), ("stage", "none")): 1}


def test_a_database_that_does_not_answer_is_a_metric_too(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise OperationalError("away")

    monkeypatch.setattr(metrics, "PARTS", (away,))
    assert _values(bench) == {"docmemo_database_answered": {(): 0.0}}


def test_every_metric_and_endpoint_is_documented(bench: Workbench) -> None:
    worker_seen(name="a", queues=["publish"], processes=1)
    exposed = {family.name for part in metrics.PARTS for family in part()} | {"docmemo_database_answered"}
    documented = set(re.findall(r"^\| `(docmemo_[a-z_]+)` \|", DOCS, re.MULTILINE))
    assert exposed == documented
    assert [path for path in ("/healthz", "/readyz", "/metrics") if f"`{path}`" not in DOCS] == []
    assert [name for name in readiness.CHECKS if f"`{name}`" not in DOCS] == []
    assert InboxEvent.objects.count() == 0


def test_work_without_a_worker_is_told_in_the_details(bench: Workbench, bus_here: None) -> None:
    bench.submit("text")
    bench.deliver()
    answer = Client().get("/readyz")
    assert answer.status_code == 200, "serving goes on"
    assert answer.json()["unattended"][0].startswith("Queue cpu has 1 piece of work and no worker listens to it.")
    worker_seen(name="a", queues=["cpu"], processes=1)
    assert Client().get("/readyz").json()["unattended"] == []


def test_the_doctor_says_so_too(bench: Workbench, celery_broker: str) -> None:
    bench.submit("text")
    bench.deliver()
    found = {finding.name: finding for finding in doctor._workers()}
    assert found["queue cpu"].state == "unreachable" and found["queue cpu"].needed
    assert found["queue cpu"].detail.startswith("Queue cpu has 1 piece of work and no worker listens to it.")
    worker_seen(name="a", queues=["cpu"], processes=1)
    assert "queue cpu" not in {finding.name for finding in doctor._workers()}
