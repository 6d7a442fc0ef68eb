"""Building the index of a live version anew, with a better parser or another model: a new build beside the live one, by the same path."""

from __future__ import annotations

from django.db import transaction

from ingestion.models import Document, Job
from ingestion.services.audit import audit_append
from ingestion.services.jobs import job_start
from ingestion.services.pipeline import pipeline_fingerprint


@transaction.atomic
def document_rebuild(*, document: Document, actor: str) -> Job | None:
    """A job that builds the newest version with today's pipeline, or None when it is built or being built with it already.

    The live build stays live until the new one takes its place, and for good when the new one fails.
    """
    document = Document.objects.select_for_update().get(id=document.id)
    newest = document.versions.filter(revision__gt=document.purged_through).order_by("-number").first()
    if newest is None or document.deleted_at is not None:
        return None
    before = set(Job.objects.filter(document=document).values_list("id", flat=True))
    job = job_start(document=document, version=newest, fingerprint=pipeline_fingerprint())
    if job is None or job.id in before:
        return None
    audit_append(
        organisation=document.organisation, act="document.rebuilt", subject=str(document.id), actor=actor,
        body={"version": newest.number, "fingerprint": pipeline_fingerprint()},
    )  # fmt: skip
    return job
