"""The third check, and the only place where an answer comes into being: in one transaction, under the locks that every change takes.

Publishing, deletion and each change of rights lock the same rows for update (the documents, and the organisation through its access
epoch). Here they are locked FOR SHARE: what is checked stays true until the answer is committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from ingestion.domain.anchors import quote_hash
from ingestion.domain.events import OutcomeType
from ingestion.domain.evidence import PageView, Pin, Scope
from ingestion.models import Page, User
from ingestion.selectors.as_of import NotAnAuditor, as_of_visible, moment_for
from ingestion.selectors.visibility import VISIBLE_CLASSES_SQL, access_parameters, asker_for
from ingestion.services.audit import audit_append
from ingestion.services.outcomes import outcome_announce
from qa.gate.gate import Decision
from qa.models import Answer, Citation, Claim, Round, Run, RunPin, RunState

LOCK_SQL = """
select id from ingestion_organisation where id = %(organisation)s for share
"""
LOCK_DOCUMENTS_SQL = """
select id, live_build_id from ingestion_document
 where id = any(%(documents)s) and organisation_id = %(organisation)s and deleted_at is null order by id for share
"""
STILL_VISIBLE_SQL = f"""
select p.id from ingestion_page p
 where p.id = any(%(pages)s) and p.access_class_id in ({VISIBLE_CLASSES_SQL})
"""


class EvidenceChanged(Exception):
    """A right was taken away or a version was superseded since the run began; nothing was released."""


@transaction.atomic
def run_release(
    run: Run, decision: Decision, scope: Scope, views: Sequence[PageView], shown: Iterable[UUID], facts: dict[str, Any]
) -> None:
    """Write the verdict and, if there is one, the answer, with the run's audit entry.

    `views` are the pages that were read, `shown` the ids of all that were. Raises `EvidenceChanged` when what the run rests on is not
    live or not visible any more; then nothing is written.
    """
    user = User.objects.select_related("organisation").get(id=run.question.asker_id)
    _assert_unchanged(run, user, scope, list(shown))
    now = timezone.now()
    run.verdict, run.reason = str(decision.verdict), decision.reason
    run.checks = [asdict(check) for check in decision.checks]
    run.cost, run.versions, run.settings = facts["cost"], facts["versions"], facts["settings"]
    run.state, run.finished_at = RunState.DONE, now
    run.save()
    RunPin.objects.bulk_create(
        [
            RunPin(run=run, document_id=pin.document_id, version_id=pin.version_id, build_id=pin.build_id)
            for pin in _read_pins(scope, views)
        ],
        ignore_conflicts=True,
    )
    if decision.claims:
        _answer_write(run, decision, {view.page_id: view for view in views})
    _audit(run, user, decision, views)


def _read_pins(scope: Scope, views: Sequence[PageView]) -> list[Pin]:
    read = {view.document_id for view in views}
    return [pin for pin in scope.pins if pin.document_id in read]


def _assert_unchanged(run: Run, user: User, scope: Scope, shown: list[UUID]) -> None:
    """Lock, then look: the documents, then the rights (the organisation's row): the order in which every change takes them."""
    with connection.cursor() as cursor:
        pages = dict(Page.objects.filter(id__in=shown).values_list("id", "document_id"))
        documents = sorted(set(pages.values()))
        cursor.execute(LOCK_DOCUMENTS_SQL, {"documents": documents, "organisation": user.organisation_id})
        live = dict(cursor.fetchall())
        cursor.execute(LOCK_SQL, {"organisation": user.organisation_id})
        if run.as_of is not None:
            _assert_still_as_of(run, user, shown)
            return
        pinned = {pin.document_id: pin.build_id for pin in scope.pins}
        if set(shown) - set(pages) or any(live.get(d) != pinned.get(d) for d in documents):
            raise EvidenceChanged("a version was superseded or withdrawn")
        cursor.execute(STILL_VISIBLE_SQL, {**access_parameters(asker_for(user, "default")), "pages": shown})
        if {row[0] for row in cursor.fetchall()} != set(shown):
            raise EvidenceChanged("a right was taken away")


def _assert_still_as_of(run: Run, auditor: User, shown: list[UUID]) -> None:
    """The past does not change, but what is held of it and who may look at it do."""
    try:
        moment = moment_for(auditor, run.as_of_person, run.as_of)
    except NotAnAuditor as error:
        raise EvidenceChanged("the person who looks is no auditor any more") from error
    if as_of_visible(moment, shown) != set(shown):
        raise EvidenceChanged("what was read is no longer held")


def _answer_write(run: Run, decision: Decision, views: dict[UUID, PageView]) -> None:
    answer = Answer.objects.create(run=run, text=" ".join(claim.text for claim in decision.claims))
    for ordinal, claim in enumerate(decision.claims):
        row = Claim.objects.create(answer=answer, ordinal=ordinal, text=claim.text)
        for place, anchor in enumerate(claim.anchors):
            view = views[anchor.page_id]
            Citation.objects.create(
                claim=row, ordinal=place, document_id=view.document_id, version_id=view.version_id, build_id=view.build_id,
                page_id=view.page_id, page_number=view.number, label=view.label, start=anchor.start, end=anchor.end,
                quote=anchor.quote, quote_sha256=quote_hash(anchor.quote), boxes=[list(box) for box in anchor.boxes],
            )  # fmt: skip
    if run.as_of is None:
        outcome_announce(
            organisation=run.question.organisation, kind=OutcomeType.ANSWER_RELEASED, key=str(run.id), run=str(run.id)
        )


def _audit(run: Run, user: User, decision: Decision, views: Sequence[PageView]) -> None:
    """One entry for the run: ids, scores, verdicts and hashes in the chain; texts as payloads that can be erased."""
    rounds = list(Round.objects.filter(run=run).order_by("number"))
    body = {
        "run": str(run.id),
        "verdict": run.verdict,
        "reason": run.reason,
        "seed": run.seed,
        "tags": run.tags,
        "access_epoch": run.access_epoch,
        "as_of": {"at": run.as_of.isoformat(), "for": str(run.as_of_person_id)} if run.as_of else None,
        "settings": run.settings,
        "versions": run.versions,
        "cost": run.cost,
        "checks": run.checks,
        "restarts": run.restarts,
        "rounds": [{"number": r.number, "record": r.record} for r in rounds],
        "pins": {str(v.document_id): str(v.build_id) for v in views},
        "citations": [
            {"page": str(a.page_id), "start": a.start, "end": a.end, "quote_sha256": quote_hash(a.quote)}
            for claim in decision.claims
            for a in claim.anchors
        ],
    }
    payloads = {
        "question": run.question.text,
        "answer": [{"text": c.text, "quotes": [a.quote for a in c.anchors]} for c in decision.claims],
        "rounds": [{"number": r.number, "texts": r.texts} for r in rounds],
    }
    audit_append(
        organisation=run.question.organisation, act="question.answered" if decision.claims else "question.abstained",
        subject=str(run.id), actor=str(user.id), body=body, payloads=payloads,
        documents=sorted({view.document_id for view in views}),
    )  # fmt: skip
