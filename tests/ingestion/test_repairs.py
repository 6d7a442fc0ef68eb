"""Whatever dies whenever, one sweep and the work that it opens lead to an end: of jobs, stage runs, builds, events and questions."""

from __future__ import annotations

import threading
from datetime import timedelta
from uuid import UUID

import pytest
from django.conf import LazySettings
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ingestion.domain.errors import failure
from ingestion.models import Build, InboxEvent, Job, OutboxEvent, StageRun
from ingestion.services import jobs, pipeline
from ingestion.services.events import event_receive
from ingestion.services.job_control import job_cancel, job_pause, job_resume, job_retry
from ingestion.services.jobs import run_claim, run_lost
from ingestion.services.pipeline import stage_run_execute
from qa.models import Run
from qa.services import questions
from tests.ingestion.fakes import Workbench
from workers.sweeper import sweep

TWO_PAGES = "a first page with words\fa second page with words\fa third"
ATTEMPTS = 3
ENDED = {"published", "failed", "quarantined", "superseded", "cancelled"}
STEPS = (
    "submit", "submit_bad", "receive", "receive_and_die", "work", "work", "work", "die_at_work", "die_at_work", "die_keeping",
    "broker_forgets", "pause", "resume", "cancel", "retry", "ask", "question_dies", "withdraw",
)  # fmt: skip


class Killed(BaseException):
    """The process ends here: nothing of what stands behind it happens."""


class Chaos:
    """Does a step of the system's, or lets a process die in it."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.counter = 0

    def step(self, name: str, number: int) -> None:
        if name in ("submit", "submit_bad"):
            self.counter += 1
            content = b"FAIL corrupt" if name == "submit_bad" else f"{TWO_PAGES} {self.counter}"
            self.bench.submit(content, f"{number % 3}.pdf")
        elif name == "receive":
            self.bench.deliver()
        elif name == "receive_and_die":
            for message in self.bench.messages():
                event_receive(message)  # kept; the consumer dies before it is put into effect
        elif name in ("work", "die_at_work", "die_keeping"):
            self._work(name)
        elif name == "broker_forgets":
            self.bench.queue.offered.clear()
        elif name in ("ask", "question_dies"):
            self._question(name)
        elif name == "withdraw":
            self._withdraw(number)
        else:
            acts = {"pause": job_pause, "resume": job_resume, "cancel": job_cancel, "retry": job_retry}
            found = list(Job.objects.order_by("id"))
            if found:
                acts[name](job=found[number % len(found)], actor="chaos")

    def _work(self, name: str) -> None:
        task = self.bench.queue.take()
        if task is None or task[0] != "docmemo.run_stage":
            return
        run_id = UUID(task[1][0])
        if name == "work":
            stage_run_execute(run_id, "test")
        elif name == "die_at_work":
            run_claim(run_id, "killed", timedelta(seconds=60))
        else:
            run = run_claim(run_id, "killed", timedelta(seconds=60))
            if run is None:
                return

            def keep(*_: object) -> None:
                raise Killed

            with pytest.raises(Killed):
                jobs.run_finish(run, keep, None)

    def _question(self, name: str) -> None:
        if name == "ask":
            questions.question_ask(user=self.bench.cast.alice, corpus_slug="library", text="what?")  # and dies before the offer
        else:
            for run in Run.objects.filter(state="waiting")[:1]:
                Run.objects.filter(id=run.id).update(state="running", started_at=timezone.now(), attempts=run.attempts + 1)

    def _withdraw(self, number: int) -> None:
        from ingestion.models import Document
        from ingestion.services.documents import document_withdraw

        found = list(Document.objects.filter(deleted_at__isnull=True).order_by("id"))
        if found:
            document_withdraw(actor="chaos", document=found[number % len(found)])

    # --- afterwards ---------------------------------------------------------------------------------

    def time_passes(self) -> None:
        """Long enough that every lease, pause and patience is over."""
        past = timezone.now() - timedelta(hours=1)
        StageRun.objects.filter(state="running").update(lease_until=past)
        StageRun.objects.filter(state="pending").update(due_at=past)
        StageRun.objects.filter(offered_at__isnull=False).update(offered_at=past)
        InboxEvent.objects.filter(state__in=["received", "waiting"]).update(received_at=past)
        Run.objects.filter(state="running").update(started_at=past)
        Run.objects.filter(state="waiting").update(created_at=past)
        Run.objects.filter(state="waiting", offered_at__isnull=False).update(offered_at=past)

    def end(self) -> None:
        """Processes are there again: relay and consumer run, the sweeper sweeps once, workers work until nothing is left."""
        self.bench.deliver()
        self.time_passes()
        self.bench.queue.offered.clear()  # whatever the broker held is gone
        sweep(ATTEMPTS)
        while task := self.bench.queue.take():
            if task[0] == "docmemo.run_stage":
                stage_run_execute(UUID(task[1][0]), "test")
            else:
                Run.objects.filter(id=task[1][0], state="waiting").update(state="done", verdict="not_in_documents")


@settings(
    max_examples=15, deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 5)), min_size=5, max_size=30))
def test_from_any_state_one_sweep_and_its_work_lead_to_an_end(bench: Workbench, steps: list[tuple[str, int]]) -> None:
    chaos = Chaos(bench)
    chaos.counter = OutboxEvent.objects.count()
    bench.corpus()
    for name, number in [("submit", 0), ("receive", 0), *steps]:
        chaos.step(name, number)
    for job in Job.objects.filter(paused_at__isnull=False):
        job_resume(job=job, actor="chaos")
    chaos.end()
    assert set(Job.objects.values_list("state", flat=True)) <= ENDED
    assert not StageRun.objects.filter(state__in=["pending", "running"]).exists()
    assert not Build.objects.filter(state="building").exists()
    assert not InboxEvent.objects.filter(state__in=["received", "waiting"]).exists()
    assert not OutboxEvent.objects.filter(topic="docmemo.documents", published_at__isnull=True).exists()
    assert not Run.objects.exclude(state__in=["done", "failed"]).exists()


def test_a_process_killed_for_memory_each_time_ends_in_quarantine_with_the_reason(bench: Workbench) -> None:
    bench.submit(TWO_PAGES)
    bench.deliver()
    run_id = UUID(bench.queue.take()[1][0])
    for attempt in range(1, ATTEMPTS + 1):
        assert run_claim(run_id, "here:1", timedelta(seconds=60))
        assert not run_lost(run_id, "here:2", failure("worker_killed", "signal 9"), ATTEMPTS, 9), "another process's run"
        assert run_lost(run_id, "here:1", failure("worker_killed", "signal 9"), ATTEMPTS, 9)
        assert not run_lost(run_id, "here:1", failure("worker_killed", "signal 9"), ATTEMPTS, 9), "once for each claim"
        assert len(StageRun.objects.get(id=run_id).evidence) == attempt
    job = bench.newest_job()
    assert (job.state, job.failed_stage, job.reason_code) == ("quarantined", "inspect", "worker_killed")
    assert "memory" in job.reason and "signal 9" in job.reason
    last = StageRun.objects.get(id=run_id).evidence[-1]
    assert (last["attempt"], last["worker"], last["signal"], last["code"]) == (ATTEMPTS, "here:1", 9, "worker_killed")
    sweep(ATTEMPTS)
    bench.work()  # the broker may still hold the task: it finds nothing to do
    assert StageRun.objects.get().attempts == ATTEMPTS and bench.newest_job().state == "quarantined"


def test_the_evidence_of_a_poisoned_document_survives_in_order_and_is_bounded(bench: Workbench) -> None:
    bench.submit(TWO_PAGES)
    bench.deliver()
    run_id = UUID(bench.queue.take()[1][0])
    for number in range(15):
        run_claim(run_id, f"here:{number}", timedelta(seconds=60))
        run_lost(run_id, f"here:{number}", failure("worker_lost"), 100)
    kept = StageRun.objects.get(id=run_id).evidence
    assert [one["attempt"] for one in kept] == list(range(6, 16))


def test_a_stage_that_hangs_fails_at_its_deadline_and_is_tried_again(bench: Workbench, settings: LazySettings) -> None:
    """The deadline has passed already: what is tested is that the failure is written while the stage still hangs."""
    settings.PIPELINE = {**settings.PIPELINE, "DEADLINES": {**settings.PIPELINE["DEADLINES"], "inspect": 0}}
    bench.submit(TWO_PAGES)
    bench.deliver()
    run_id = UUID(bench.queue.take()[1][0])
    seen: list[str] = []
    pause = threading.Event()

    def hanging(run: StageRun, result: object) -> None:
        raise AssertionError("kept past the deadline")

    def load_slowly(run: StageRun) -> object:
        for _ in range(600):
            seen[:] = [StageRun.objects.get(id=run.id).reason_code]
            if seen[0]:
                break
            pause.wait(0.05)
        return original(run)

    original, kept = pipeline._context, pipeline.KEEP["inspect"]
    pipeline._context, pipeline.KEEP["inspect"] = load_slowly, hanging
    try:
        assert stage_run_execute(run_id, "test") is False
    finally:
        pipeline._context, pipeline.KEEP["inspect"] = original, kept
    run = StageRun.objects.get(id=run_id)
    assert seen == ["stage_timeout"]
    assert (run.state, run.reason_code, run.attempts) == ("pending", "stage_timeout", 1)
    assert run.due_at > run.started_at and run.evidence[0]["code"] == "stage_timeout"


def test_every_stage_has_a_deadline(settings: LazySettings) -> None:
    assert set(settings.PIPELINE["DEADLINES"]) == {stage.name for stage in pipeline.PIPELINE}


def test_an_open_job_without_work_is_ended_with_a_reason(bench: Workbench) -> None:
    bench.submit(TWO_PAGES)
    bench.deliver()
    with transaction.atomic():
        StageRun.objects.all().delete()
    sweep(ATTEMPTS)
    assert (bench.newest_job().state, bench.newest_job().reason_code) == ("quarantined", "stranded")


def test_a_question_that_takes_every_worker_with_it_fails(bench: Workbench) -> None:
    run = questions.question_ask(user=bench.cast.alice, corpus_slug="library", text="what?")
    for _ in range(questions.MAX_ATTEMPTS):
        assert Run.objects.filter(id=run.id, state="waiting").update(state="running", attempts=Run.objects.get(id=run.id).attempts + 1)
        assert questions.run_lost(run.id, "worker_killed")
    run.refresh_from_db()
    assert (run.state, run.reason) == ("failed", "broken")
    assert not questions.run_lost(run.id, "worker_killed")
