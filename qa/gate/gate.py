"""THE GATE: the only way to a released answer. It takes the loop's proposal and pages fetched anew, and believes neither."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from ingestion.domain.cleaning import inert
from ingestion.domain.evidence import PageView, Scope
from qa.gate.answerability import GateSettings, abstention, sure_enough
from qa.gate.checks import Check
from qa.gate.citations import Anchor, verify
from qa.gate.reasons import end_state
from qa.gate.support import supported
from qa.memory.trail import EndState, Reason, RunResult

DEFAULT_SETTINGS = GateSettings()


@dataclass(frozen=True, slots=True)
class ReleasedClaim:
    """A statement with at least one verified place. Its text is inert: no link, picture or tag for whatever shows it."""

    text: str
    anchors: tuple[Anchor, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """`claims` are there if and only if the verdict is `answered`. `reason` is a code of `qa.gate.reasons`."""

    verdict: EndState
    reason: Reason
    claims: tuple[ReleasedClaim, ...] = ()
    checks: tuple[Check, ...] = ()


def decide(
    result: RunResult,
    fetched_pages: Mapping[UUID, PageView],
    scope: Scope,
    settings: GateSettings = DEFAULT_SETTINGS,
) -> Decision:
    """What may be released. `fetched_pages` are the shown pages, read again through the asker's door after the loop ended.

    A claim whose citations do not all stand, or that its quotes do not bear out, takes the whole answer with it: half an answer
    misleads.
    """
    if result.status is not EndState.ANSWERED or scope.visible_pages == 0:
        reason, check = abstention(result, scope)
        return Decision(end_state(reason), reason, checks=(check,))
    if not result.claims:
        return Decision(EndState.NOT_FOUND, Reason.NO_CLAIMS, checks=(Check("claims", False, "0"),))
    checks: list[Check] = []
    claims: list[ReleasedClaim] = []
    refused: Reason | None = None
    for claim in result.claims:
        verified = [verify(citation, fetched_pages, result.shown, scope.build_ids) for citation in claim.citations]
        checks += [check for _, check in verified]
        anchors = tuple(anchor for anchor, _ in verified if anchor is not None)
        if not anchors or len(anchors) < len(verified):
            refused = refused or Reason.CITATION_UNVERIFIED
            continue
        support = supported(claim.text, [anchor.quote for anchor in anchors], result.verbatim)
        checks += support
        if not all(check.passed for check in support):
            refused = refused or Reason.SUPPORT_UNVERIFIED
            continue
        claims.append(ReleasedClaim(inert(claim.text), anchors))
    sure = sure_enough(result, settings)
    checks.append(sure)
    if refused is None and not sure.passed:
        refused = Reason.CONFIDENCE_LOW
    if refused is not None:
        return Decision(end_state(refused), refused, checks=tuple(checks))
    return Decision(EndState.ANSWERED, Reason.ANSWERED, tuple(claims), tuple(checks))
