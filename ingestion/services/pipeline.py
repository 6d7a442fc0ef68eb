"""Running one stage of a job: its context, its tools, the lease that is kept alive meanwhile, and the keeping of what it found."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from ingestion.domain.errors import IngestionError, failure
from ingestion.models import DocumentPassword, StageRun
from ingestion.seams import load
from ingestion.seams.blobs import BlobMissing
from ingestion.seams.renderer import Limits
from ingestion.services import jobs, stage_index, stage_results, version_publish
from ingestion.services.disk_room import no_room, room_assert
from ingestion.stages import PIPELINE, Stage, StageContext, Tools

logger = logging.getLogger(__name__)

# What each stage found is kept by one function, under the run's lease.
KEEP: dict[str, Callable[[StageRun, Any], None]] = {
    "inspect": stage_results.inspection_keep,
    "render": stage_results.pictures_keep,
    "read": stage_results.texts_keep,
    "embed": stage_results.vectors_keep,
    "describe": stage_index.description_keep,
    "publish": version_publish.version_publish,
}
# Before these the disks are looked at: pictures, texts and vectors are most of what a document takes.
WRITES_MUCH = frozenset({"render", "read", "embed"})


def tools_load() -> Tools:
    """The adapters that the settings name."""
    return Tools(load("blobs"), load("renderer"), load("parser"), load("page_embedder"))


def limits_load() -> Limits:
    """What one call in a parsing process may use, from the settings."""
    p = settings.PIPELINE
    return Limits(memory_bytes=p["SANDBOX_MEMORY_BYTES"], seconds=p["STAGE_SECONDS"], max_pages=p["MAX_PAGES"])


@cache
def pipeline_fingerprint() -> str:
    """What a build rests on besides its content: the stages, the adapters' versions, the embedding space, the settings.

    A change of any of them makes a new build of the same version, by the same path as an update.
    """
    tools, p = tools_load(), settings.PIPELINE
    parts = (
        [stage.name for stage in PIPELINE],
        (tools.renderer.name, tools.renderer.version),
        (tools.parser.name, tools.parser.version),
        (tools.embedder.space.name, tools.embedder.space.fingerprint),
        stage_index.DESCRIBE_VERSION,
        p["RENDER_LONG_SIDE"],
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def stage_named(name: str) -> Stage:
    """The stage of this name."""
    return next(stage for stage in PIPELINE if stage.name == name)


def stage_run_execute(run_id: UUID, worker: str) -> bool:
    """Do one stage run, from claim to kept result; False when it was not to be had or its lease was lost.

    A failure of the stage is recorded and decides, by its type, whether the run is tried again.
    """
    lease = timedelta(seconds=settings.PIPELINE["LEASE_SECONDS"])
    run = jobs.run_claim(run_id, worker, lease)
    if run is None:
        return False
    stage = stage_named(run.stage)
    try:
        if stage.name in WRITES_MUCH:
            room_assert()
        with _lease_kept(run, lease, settings.PIPELINE["DEADLINES"][run.stage]), _context(run) as context:
            connection.close()  # give the connection back while the stage works
            result = stage.run(context)
        return jobs.run_finish(run, KEEP[stage.name], result)
    except IngestionError as error:
        logger.info("stage %s of job %s failed: %s", run.stage, run.job_id, error.code)
        jobs.run_fail(run, error, settings.PIPELINE["MAX_ATTEMPTS"])
    except Exception as error:
        logger.exception("stage %s of job %s broke", run.stage, run.job_id)
        jobs.run_fail(run, no_room(error) or failure("stage_failed", type(error).__name__), settings.PIPELINE["MAX_ATTEMPTS"])
    return False


@contextmanager
def _context(run: StageRun) -> Iterator[StageContext]:
    job = run.job
    if job.version.blob is None:
        raise failure("blob_missing")
    tools = tools_load()
    try:
        with tools.blobs.local_path(job.version.blob.key) as pdf:
            yield StageContext(
                organisation_id=job.organisation_id,
                document_id=job.document_id,
                version_id=job.version_id,
                build_id=job.build_id,
                pdf=pdf,
                first_page=run.first_page,
                last_page=run.last_page,
                language=job.document.language,
                window=settings.PIPELINE["PAGE_WINDOW"],
                long_side=settings.PIPELINE["RENDER_LONG_SIDE"],
                limits=limits_load(),
                tools=tools,
                password=DocumentPassword.objects.opened(job.version.blob, load("seal")),
            )
    except BlobMissing:
        raise failure("blob_missing") from None


@contextmanager
def _lease_kept(run: StageRun, lease: timedelta, deadline: float) -> Iterator[None]:
    """Extend the lease from a thread while the stage works; a lease that was lost is noticed when the result is kept.

    Past the deadline, in seconds, the run is failed from the thread: a stage that hangs cannot do so itself.
    """
    done = threading.Event()
    ends = time.monotonic() + deadline

    def keep() -> None:
        while not done.wait(max(0.0, min(lease.total_seconds() / 3, ends - time.monotonic()))):
            try:
                if time.monotonic() >= ends:
                    error = failure("stage_timeout", f"{deadline:.0f} seconds")
                    jobs.run_fail(run, error, settings.PIPELINE["MAX_ATTEMPTS"])
                    return
                if not jobs.lease_extend(run.id, run.fencing_token, lease):
                    return
            except (DatabaseError, InterfaceError):
                logger.exception("the lease of stage run %s could not be extended", run.id)
                done.wait(1.0)
            finally:
                connection.close()

    thread = threading.Thread(target=keep, name=f"lease-{run.id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(timeout=5)
