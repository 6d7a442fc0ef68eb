"""Which end state a proposal may keep. An answer has to be earned, and so has "not in the documents"."""

from __future__ import annotations

from dataclasses import dataclass

from ingestion.domain.evidence import Scope
from qa.gate.checks import Check
from qa.gate.reasons import end_state
from qa.memory.trail import EndState, Reason, RunResult


@dataclass(frozen=True, slots=True)
class GateSettings:
    """`confidence` is the least that a released answer needs, in [0, 1]."""

    confidence: float = 0.5


def abstention(result: RunResult, scope: Scope) -> tuple[Reason, Check]:
    """The reason that holds for a result without an answer, with the check of it.

    "Not in the documents" needs a proof that still holds: every visible page was read, or none of the counted forms of a term of the
    question stands on any visible page while all of them can be searched. Anything less is "not found".
    """
    if scope.visible_pages == 0:
        return Reason.NO_VISIBLE_PAGES, Check("scope", True, "visible_pages=0")
    reason = result.reason
    if result.status is not EndState.NOT_IN_DOCUMENTS:
        consistent = end_state(reason) is result.status
        return (reason if consistent else Reason.ROUNDS_SPENT), Check("end_state", consistent)
    readable = scope.unreadable_pages == 0 or result.pictures_read
    counted = bool(result.absent_terms) and all(forms and not any(forms.values()) for forms in result.absent_terms.values())
    if reason is Reason.TERMS_ABSENT and counted and scope.unreadable_pages == 0:
        return reason, Check("absence", True, f"terms={len(result.absent_terms)} pages={scope.visible_pages}")
    if reason is Reason.ALL_PAGES_READ and readable and len(result.shown) >= scope.visible_pages:
        return reason, Check("absence", True, f"pages_read={len(result.shown)} of {scope.visible_pages}")
    return Reason.ABSENCE_UNPROVEN, Check("absence", False, f"unreadable_pages={scope.unreadable_pages}")


def sure_enough(result: RunResult, settings: GateSettings) -> Check:
    return Check("confidence", result.confidence >= settings.confidence, f"{result.confidence:.3f} >= {settings.confidence:g}")
