"""Every answer that relied on a document: from the audit chain, which outlives the answers. Ids, askers, times, standing; no text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ingestion.models import AuditEntry, Document, Role, User
from ingestion.selectors.visibility import roles_of
from qa.models import Citation, Run

ENDINGS = ("question.answered", "question.abstained")


@dataclass(frozen=True, slots=True)
class Recalled:
    """A run that was shown the document. `relied` is whether its answer cites it; None when its citations are no longer held.

    `standing` is of the build that was read: `live`, `superseded`, `withdrawn`, or `no longer held`.
    """

    run_id: UUID
    asker: str
    asked_at: datetime
    ended_at: datetime
    verdict: str
    relied: bool | None
    version: int | None
    standing: str
    answer_withdrawn: bool


def recallable_document(viewer: User, document_id: UUID) -> Document | None:
    """The document, for an auditor of its organisation or who manages its corpus; None is absent and forbidden alike."""
    roles = roles_of(viewer) if viewer.is_active else frozenset()
    documents = Document.objects.filter(id=document_id, organisation_id=viewer.organisation_id).select_related("corpus")
    if not roles & {(Role.AUDITOR.value, None), (Role.ORGANISATION_ADMIN.value, None)}:  # the rights are in the query: one read for all
        documents = documents.filter(corpus_id__in=[corpus for role, corpus in roles if role == Role.CORPUS_OWNER.value])
    return documents.first()


def answers_relying_on(document: Document) -> list[Recalled]:
    """The runs that were shown a page of the document, newest first, whatever became of it or of them since."""
    entries = AuditEntry.objects.filter(
        organisation_id=document.organisation_id, act__in=ENDINGS, body__pins__has_key=str(document.id)
    ).order_by("-position")
    ended = {entry.subject: entry for entry in reversed(entries)}
    runs = Run.objects.filter(id__in=list(ended)).select_related("question__asker", "answer").order_by("-created_at")
    builds = {build.id: build for build in document.builds.select_related("version")}
    cited = set(
        Citation.objects.filter(document=document, claim__answer__run__in=list(ended)).values_list("claim__answer__run_id", flat=True)
    )
    return [_recalled(run, ended[str(run.id)], document, builds, cited) for run in runs]


def _recalled(run: Run, entry: AuditEntry, document: Document, builds: Mapping[UUID, Any], cited: set[UUID]) -> Recalled:
    build = builds.get(UUID(entry.body["pins"][str(document.id)]))
    answer = getattr(run, "answer", None)
    answered = entry.act == "question.answered"
    relied = run.id in cited if build is not None or not answered else None
    return Recalled(
        run_id=run.id,
        asker=run.question.asker.username,
        asked_at=run.question.asked_at,
        ended_at=entry.at,
        verdict=run.verdict,
        relied=relied,
        version=build.version.number if build else None,
        standing=_standing(document, build),
        answer_withdrawn=bool(answer and answer.withdrawn_at),
    )


def _standing(document: Document, build: Any) -> str:
    if build is None:
        return "no longer held"
    if document.deleted_at is not None or document.corpus.deleted_at is not None:
        return "withdrawn"
    return "live" if build.id == document.live_build_id else "superseded"


def recall_record(document: Document, found: Sequence[Recalled]) -> dict[str, Any]:
    """The list as one value for programs."""
    return {"document": str(document.id), "external_id": document.external_id, "runs": [asdict(one) for one in found]}
