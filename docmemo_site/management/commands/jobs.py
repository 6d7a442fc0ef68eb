"""`manage.py jobs`: list jobs, and pause, resume, cancel or retry one or many."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from docmemo_site.terminal import organisation_named, print_json, services_ready
from ingestion.models import Corpus, Job
from ingestion.selectors.job_lists import CHOICES, JobFilter, bulk_progress, jobs_for, jobs_found
from ingestion.selectors.queues import statements
from ingestion.services import job_control
from qa.selectors.queue import all_queues

ACTS = {
    "cancel": job_control.jobs_cancel,
    "pause": job_control.jobs_pause,
    "resume": job_control.jobs_resume,
    "retry": job_control.jobs_retry,
}


class Command(BaseCommand):
    help = "List jobs, or cancel, pause, resume or retry those that the filters find. Acting on every job needs --all."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", nargs="?", default="list", choices=["list", *ACTS], help="what to do; without it: list")
        parser.add_argument("ids", nargs="*", type=UUID, metavar="JOB", help="ids of jobs")
        parser.add_argument("--corpus", metavar="SLUG", default="", help="jobs of this corpus")
        parser.add_argument("--state", default="", choices=CHOICES, help="jobs in this state")
        parser.add_argument("--code", default="", metavar="CODE", help="jobs that ended with this reason code")
        parser.add_argument("--all", action="store_true", help="every job of the organisation, where no filter is given")
        parser.add_argument("--from-stage", default="", choices=job_control.STAGE_NAMES, help="retry: begin at this stage")
        parser.add_argument("--limit", type=int, default=100, help="list: at most so many (100)")
        parser.add_argument("--organisation", metavar="SLUG")
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        services_ready(self.stderr.write)
        organisation = organisation_named(options["organisation"])
        corpora = list(Corpus.objects.filter(organisation=organisation))
        if options["corpus"] and options["corpus"] not in {corpus.slug for corpus in corpora}:
            raise CommandError(f"There is no corpus {options['corpus']}.")
        wanted = JobFilter(options["corpus"], options["state"], options["code"], tuple(options["ids"]))
        jobs = jobs_found(corpora, wanted)
        if options["action"] == "list":
            self._list(jobs[: options["limit"]], jobs.count(), bulk_progress(corpora, wanted), options["json"])
            return
        if wanted == JobFilter() and not options["all"]:
            raise CommandError("Name jobs by id, --corpus, --state or --code, or say --all.")
        if options["from_stage"] and options["action"] != "retry":
            raise CommandError("--from-stage goes with retry only.")
        self._act(options, jobs)

    def _act(self, options: dict[str, Any], jobs: Any) -> None:
        action, more = options["action"], {"from_stage": options["from_stage"]} if options["from_stage"] else {}
        found = jobs.count()
        done = ACTS[action](job_ids=jobs_for(jobs, action), actor="command line", **more)
        if options["json"]:
            print_json(self.stdout, {"action": action, "found": found, "done": done})
        else:
            self.stdout.write(f"{action}: {done} of {found} jobs; the others do not allow it as they stand.")
        if options["ids"] and done < len(options["ids"]):
            raise SystemExit(1)

    def _list(self, jobs: Any, count: int, progress: Any, as_json: bool) -> None:
        said = statements(all_queues())
        if as_json:
            bulk = None
            if progress is not None:
                bulk = {name: getattr(progress, name) for name in ("total", "ended", "failed", "paused", "seconds_left")}
            print_json(self.stdout, {"count": count, "bulk": bulk, "unattended": said, "jobs": [_row(job) for job in jobs]})
            return
        for sentence in said:
            self.stdout.write(sentence)
        if progress is not None:
            self.stdout.write(f"{progress.ended} of {progress.total} jobs under way have ended; {progress.left_words}.")
        for job in jobs:
            row = _row(job)
            reason = f"  {row['code']}: {row['reason']}" if row["code"] else ""
            state = f"{row['state']} (paused)" if row["paused"] else row["state"]
            self.stdout.write(f"{row['id']}  {state:<16} {row['corpus']}/{row['external_id']} v{row['version']}{reason}")
        self.stdout.write(f"{count} jobs.")


def _row(job: Job) -> dict[str, Any]:
    failed = job.stage_runs.exclude(evidence=[]).order_by("first_page")
    return {
        "id": job.id, "state": job.state, "paused": job.paused_at is not None, "corpus": job.document.corpus.slug,
        "external_id": job.document.external_id, "version": job.version.number, "stage": job.failed_stage,
        "code": job.reason_code, "reason": job.reason, "created_at": job.created_at, "finished_at": job.finished_at,
        "evidence": [{"stage": run.stage, "first_page": run.first_page, **kept} for run in failed for kept in run.evidence],
    }  # fmt: skip
