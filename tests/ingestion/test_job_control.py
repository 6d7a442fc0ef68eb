"""What people do to jobs: every act in every state, one and many, and that a paused job is left alone."""

from __future__ import annotations

import itertools
from datetime import timedelta
from io import StringIO
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connections, transaction
from django.utils import timezone

from ingestion.domain.lifecycle import JOB_ACTIONS, JobState, may_act
from ingestion.models import AuditEntry, Build, Document, Job, StageRun
from ingestion.selectors.job_lists import JobFilter, bulk_progress, jobs_for, jobs_found, steps_left
from ingestion.services import job_control, pipeline
from ingestion.services.audit import audit_verify
from ingestion.services.job_control import job_cancel, job_pause, job_resume, job_retry
from ingestion.services.jobs import run_claim, run_finish
from ingestion.services.pipeline import stage_run_execute
from tests.ingestion.fakes import Workbench
from workers.sweeper import sweep

FIVE_PAGES = "\f".join(f"TITLE {n}\nthe quick fact number {n} stands here" for n in range(1, 6))
ACTS = {"pause": job_pause, "resume": job_resume, "cancel": job_cancel, "retry": job_retry}


def _put(job: Job, state: JobState, paused: bool) -> None:
    """The job in this state, whatever it was in."""
    with transaction.atomic(using="migrator"), connections["migrator"].cursor() as cursor:
        cursor.execute("alter table ingestion_job disable trigger state_moves")
        cursor.execute(
            "update ingestion_job set state = %s, reason_code = 'x', paused_at = case when %s then now() end where id = %s",
            [state.value, paused, job.id],
        )
        cursor.execute("alter table ingestion_job enable trigger state_moves")


def test_every_act_in_every_state(bench: Workbench) -> None:
    bench.submit(FIVE_PAGES)
    bench.deliver()
    job = bench.newest_job()
    for state, paused, action in itertools.product(JobState, (False, True), ACTS):
        if paused and state not in JOB_ACTIONS["pause"]:
            with pytest.raises(IntegrityError, match="job_paused_is_open"):
                _put(job, state, paused)
            continue
        _put(job, state, paused)
        Build.objects.update(state="building")
        entries = AuditEntry.objects.count()
        changed = ACTS[action](job=job, actor="test")
        assert changed == may_act(action, state, paused), f"{action} in {state}, paused {paused}"
        assert AuditEntry.objects.count() == entries + changed
        job.refresh_from_db()
        if not changed:
            assert (job.state, job.paused_at is not None) == (state, paused)
        assert Job.objects.filter(paused_at__isnull=False).exclude(state__in=["queued", "running"]).count() == 0
    assert audit_verify(bench.cast.organisation) == []


def test_nothing_of_a_paused_job_is_offered_or_claimed_and_what_is_held_is_finished(bench: Workbench) -> None:
    bench.submit(FIVE_PAGES)
    bench.deliver()
    bench.work(limit=1)  # inspect is done: three windows to render are offered
    held = UUID(bench.queue.take()[1][0])
    run = run_claim(held, "busy", timedelta(seconds=60))
    assert job_pause(job=bench.newest_job(), actor="test")
    with pipeline._context(run) as context:
        result = pipeline.stage_named(run.stage).run(context)
    assert run_finish(run, pipeline.KEEP[run.stage], result)
    before = StageRun.objects.filter(state="done").count()
    bench.work()  # what the broker still held is refused
    StageRun.objects.update(offered_at=None)
    sweep(max_attempts=3)
    assert bench.queue.take() is None
    assert StageRun.objects.filter(state="done").count() == before == 2
    assert bench.newest_job().state == "running"
    assert job_resume(job=bench.newest_job(), actor="test")
    bench.work()
    job = bench.newest_job()
    assert (job.state, job.paused_at, Document.objects.get().live_build.page_count) == ("published", None, 5)


def test_a_job_paused_while_it_is_published_is_published(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.submit("one page")
    bench.deliver()
    keep = pipeline.KEEP["publish"]

    def paused_meanwhile(held: StageRun, result: object) -> None:
        Job.objects.filter(id=held.job_id).update(paused_at=timezone.now())
        held.job.refresh_from_db()
        keep(held, result)

    monkeypatch.setitem(pipeline.KEEP, "publish", paused_meanwhile)
    bench.work()
    assert (bench.newest_job().state, bench.newest_job().paused_at) == ("published", None)


def test_a_newer_version_takes_the_place_of_a_paused_job(bench: Workbench) -> None:
    bench.submit("one")
    bench.deliver()
    old = bench.newest_job()
    job_pause(job=old, actor="test")
    bench.publish("two")
    old.refresh_from_db()
    assert (old.state, old.paused_at, old.build.state) == ("superseded", None, "withdrawn")
    assert not job_retry(job=old, actor="test")


@pytest.mark.parametrize("stage", job_control.STAGE_NAMES)
def test_retry_from_a_stage_does_it_and_what_follows_again(bench: Workbench, stage: str) -> None:
    bench.submit(FIVE_PAGES)
    bench.deliver()
    while task := bench.queue.take():
        if StageRun.objects.get(id=UUID(task[1][0])).stage == "publish":
            break
        stage_run_execute(UUID(task[1][0]), "test")
    job = bench.newest_job()
    job_cancel(job=job, actor="test")
    first = dict(StageRun.objects.values_list("id", "stage"))
    assert job_retry(job=job, actor="test", from_stage=stage)
    bench.work()
    assert Document.objects.get().live_build.page_count == 5
    again = set(StageRun.objects.exclude(id__in=first).values_list("stage", flat=True))
    names = job_control.STAGE_NAMES
    assert again == set(names[names.index(stage) :])


def test_a_stage_that_was_not_reached_is_no_place_to_begin(bench: Workbench) -> None:
    bench.submit(FIVE_PAGES)
    bench.deliver()
    bench.work(limit=2)
    job_cancel(job=bench.newest_job(), actor="test")
    assert not job_retry(job=bench.newest_job(), actor="test", from_stage="read")
    with pytest.raises(ValueError, match="no stage"):
        job_retry(job=bench.newest_job(), actor="test", from_stage="nonsense")
    assert job_retry(job=bench.newest_job(), actor="test", from_stage="render")


def test_a_job_whose_place_another_took_is_not_retried(bench: Workbench) -> None:
    bench.submit("text")
    bench.deliver()
    first = bench.newest_job()
    job_cancel(job=first, actor="test")
    bench.submit("text")
    bench.deliver()
    assert bench.newest_job() != first
    assert not job_retry(job=first, actor="test")
    bench.work()
    assert not job_retry(job=first, actor="test")


# --- many --------------------------------------------------------------------------------------------


def test_many_at_once_by_corpus_state_and_code(bench: Workbench) -> None:
    other = bench.corpus("other")
    for number in range(6):
        bench.submit(f"text {number}", f"{number}.pdf", corpus=other if number < 2 else bench.corpus())
    bench.submit(b"FAIL corrupt", "bad.pdf")
    bench.deliver()
    while task := bench.queue.take():
        if StageRun.objects.get(id=UUID(task[1][0])).job.document.external_id == "bad.pdf":
            stage_run_execute(UUID(task[1][0]), "test")
    corpora = [bench.corpus(), other]
    held = jobs_found(corpora, JobFilter(corpus="library"))
    assert job_control.jobs_pause(job_ids=jobs_for(held, "pause"), actor="test") == 4
    assert AuditEntry.objects.filter(act="job.paused").count() == 1
    assert len(AuditEntry.objects.get(act="job.paused").body["jobs"]) == 4
    progress = bulk_progress(corpora)
    assert (progress.total, progress.ended, progress.failed, progress.paused) == (7, 1, 1, 4)
    assert progress.seconds_left is None
    assert jobs_found(corpora, JobFilter(reason_code="corrupt")).get().document.external_id == "bad.pdf"
    assert jobs_for(jobs_found(corpora, JobFilter(reason_code="corrupt")), "cancel") == []
    assert job_control.jobs_cancel(job_ids=jobs_for(jobs_found(corpora, JobFilter(corpus="other")), "cancel"), actor="t") == 2
    assert job_control.jobs_resume(job_ids=jobs_for(jobs_found(corpora, JobFilter()), "resume"), actor="t") == 4
    assert job_control.jobs_retry(job_ids=jobs_for(jobs_found(corpora, JobFilter(state="cancelled")), "retry"), actor="t") == 2
    sweep(max_attempts=3)
    bench.work()
    assert Job.objects.filter(state="published").count() == 6
    assert bulk_progress(corpora) is None


def test_the_time_left_follows_from_steps_done_and_to_do(bench: Workbench) -> None:
    bench.submit(FIVE_PAGES, "a.pdf")
    bench.submit(FIVE_PAGES, "b.pdf")
    bench.deliver()
    assert steps_left(Job.objects.all()) == 2 * 6  # nothing is known of their pages yet
    bench.work(limit=1)
    assert steps_left(Job.objects.all()) == 2 * (3 + 3 * 3) - 1  # the other one is taken to be alike
    bench.work(limit=9)
    progress = bulk_progress([bench.corpus()])
    assert progress.seconds_left is not None
    job_control.jobs_pause(job_ids=list(Job.objects.values_list("id", flat=True)), actor="test")
    assert bulk_progress([bench.corpus()]).left_words == "paused"


# --- the command -------------------------------------------------------------------------------------


def _jobs(*arguments: str) -> dict:
    import json

    out = StringIO()
    call_command("jobs", *arguments, "--organisation", "acme", "--json", stdout=out)
    return json.loads(out.getvalue())


def test_the_command_lists_and_acts(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmemo_site.management.commands.jobs.services_ready", lambda _say: None)
    bench.submit(FIVE_PAGES)
    bench.deliver()
    listed = _jobs()
    assert listed["count"] == 1 and listed["bulk"]["total"] == 1 and listed["jobs"][0]["state"] == "queued"
    assert listed["unattended"] == [
        f"Queue cpu has 1 piece of work and no worker listens to it. Start one: {_start('cpu')}"
    ]
    with pytest.raises(CommandError, match="--all"):
        call_command("jobs", "cancel", "--organisation", "acme")
    assert _jobs("pause", "--all") == {"action": "pause", "found": 1, "done": 1}
    assert _jobs("list", "--state", "paused")["jobs"][0]["paused"] is True
    assert _jobs("resume", listed["jobs"][0]["id"])["done"] == 1
    assert _jobs("cancel", "--corpus", "library")["done"] == 1
    assert _jobs("retry", "--code", "cancelled", "--from-stage", "inspect")["done"] == 1
    bench.work()
    assert _jobs("list")["bulk"] is None
    with pytest.raises(CommandError, match="no corpus"):
        _jobs("list", "--corpus", "nowhere")


def _start(queue: str) -> str:
    from django.conf import settings

    return settings.WORK["HOW_TO_START"].format(queue=queue)
