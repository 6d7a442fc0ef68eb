"""What questions keep of a document: citations, answers, rounds. The forgetting of a document reaches them through here."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from ingestion.domain.events import OutcomeType
from ingestion.services.outcomes import outcome_announce
from qa.models import Answer, Citation, Claim, Round, RunPin


class AnswersStore:
    """The `derived_store` of qa. The verdict of a run stays; what quotes the document goes, and the answer says that it was withdrawn."""

    name = "answers"

    def count(self, document: UUID, versions: frozenset[UUID]) -> int:
        rests = _rests_on(document, versions)
        texts = Round.objects.filter(run__in=RunPin.objects.filter(rests).values("run")).exclude(texts={})
        return Citation.objects.filter(rests).count() + RunPin.objects.filter(rests).count() + texts.count()

    def purge(self, document: UUID, versions: frozenset[UUID]) -> int:
        rests, removed = _rests_on(document, versions), 0
        runs = set(RunPin.objects.filter(rests).values_list("run_id", flat=True))
        runs |= set(Citation.objects.filter(rests).values_list("claim__answer__run_id", flat=True))
        for run in sorted(runs):
            removed += _run_forget(run, rests)
        return removed


def _rests_on(document: UUID, versions: frozenset[UUID]) -> Q:
    return Q(document_id=document, version_id__in=versions)


@transaction.atomic
def _run_forget(run: UUID, rests: Q) -> int:
    removed = Round.objects.filter(run_id=run).exclude(texts={}).update(texts={})
    answer = Answer.objects.select_for_update(of=("self",)).select_related("run__question__organisation").filter(run_id=run).first()
    if answer is not None:
        quoting = Claim.objects.filter(answer=answer, id__in=Citation.objects.filter(rests).values("claim"))
        if quoting.exists():
            # the claim's row stays, empty: the asker sees that something was there, as after a right was taken away
            claims = list(quoting.values_list("id", flat=True))
            Claim.objects.filter(id__in=claims).update(text="")
            removed += Citation.objects.filter(claim_id__in=claims).delete()[0]
            answer.text = " ".join(filter(None, answer.claims.order_by("ordinal").values_list("text", flat=True)))
            answer.withdrawn_at = timezone.now()
            answer.save(update_fields=["text", "withdrawn_at"])
            outcome_announce(
                organisation=answer.run.question.organisation, kind=OutcomeType.ANSWER_WITHDRAWN, key=str(run), run=str(run)
            )
    return removed + RunPin.objects.filter(rests, run_id=run).delete()[0]
