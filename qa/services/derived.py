"""What questions have made from a document: quotes, pins, and texts that readers saw. Deletion reaches them by this store."""

from __future__ import annotations

from uuid import UUID

from qa.models import Answer, Citation, Round, Run, RunPin


class AnswersOfDocument:
    """The `derived_store` of the questions: answers that cite the document, and texts of the runs that read it."""

    name = "answers and texts of runs"

    def count(self, document: UUID) -> int:
        """Citations and pins of the document, and rounds of such runs that still hold text."""
        runs = self._runs(document)
        rounds = Round.objects.filter(run_id__in=runs).exclude(texts={}).count()
        return rounds + Citation.objects.filter(document_id=document).count() + RunPin.objects.filter(document_id=document).count()

    def purge(self, document: UUID) -> int:
        """Remove answers that cite it and the texts of the runs that read it; verdicts and scores stay."""
        count, runs = self.count(document), self._runs(document)
        Round.objects.filter(run_id__in=runs).update(texts={})
        Answer.objects.filter(claims__citations__document_id=document).delete()
        RunPin.objects.filter(document_id=document).delete()
        return count

    def _runs(self, document: UUID) -> list[UUID]:
        pinned = set(RunPin.objects.filter(document_id=document).values_list("run_id", flat=True))
        citing = set(Run.objects.filter(answer__claims__citations__document_id=document).values_list("id", flat=True))
        return sorted(pinned | citing)
