"""States and their allowed moves: of a job, of a stage run, of a build, of an inbox event.

    job        queued -> running -> published | failed | quarantined | superseded | cancelled
               failed, quarantined, cancelled -> queued (retry)
               an open job may be paused (`paused_at`): nothing of it is offered or claimed, what is at work ends; every end lifts the pause
    stage run  pending -> running -> done | failed | pending (given back: lease lost or transient failure)
               pending, running -> cancelled;  failed, cancelled -> pending (retry)
    build      building -> live -> superseded | withdrawn;  building -> failed | withdrawn
               failed -> building (retry), superseded -> live | withdrawn (an older build made live again), failed -> withdrawn
    inbox      received -> applied | stale | waiting | dead;  waiting -> applied | stale | dead;  dead -> received (redrive)

The database holds the same sets as CHECK constraints; tests walk every pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class JobState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    PUBLISHED = "published"
    FAILED = "failed"
    QUARANTINED = "quarantined"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"


class StageState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class BuildState(StrEnum):
    BUILDING = "building"
    LIVE = "live"
    SUPERSEDED = "superseded"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"


class InboxState(StrEnum):
    RECEIVED = "received"
    APPLIED = "applied"
    STALE = "stale"
    WAITING = "waiting"
    DEAD = "dead"


J, S, B, I = JobState, StageState, BuildState, InboxState  # noqa: E741

JOB_MOVES: Mapping[JobState, frozenset[JobState]] = {
    J.QUEUED: frozenset({J.RUNNING, J.FAILED, J.QUARANTINED, J.SUPERSEDED, J.CANCELLED}),
    J.RUNNING: frozenset({J.PUBLISHED, J.FAILED, J.QUARANTINED, J.SUPERSEDED, J.CANCELLED}),
    J.PUBLISHED: frozenset(),
    J.FAILED: frozenset({J.QUEUED, J.SUPERSEDED}),
    J.QUARANTINED: frozenset({J.QUEUED, J.SUPERSEDED}),
    J.SUPERSEDED: frozenset(),
    J.CANCELLED: frozenset({J.QUEUED, J.SUPERSEDED}),
}
STAGE_MOVES: Mapping[StageState, frozenset[StageState]] = {
    S.PENDING: frozenset({S.RUNNING, S.CANCELLED}),
    S.RUNNING: frozenset({S.DONE, S.FAILED, S.PENDING, S.CANCELLED}),
    S.DONE: frozenset(),
    S.FAILED: frozenset({S.PENDING}),
    S.CANCELLED: frozenset({S.PENDING}),
}
BUILD_MOVES: Mapping[BuildState, frozenset[BuildState]] = {
    B.BUILDING: frozenset({B.LIVE, B.FAILED, B.WITHDRAWN}),
    B.LIVE: frozenset({B.SUPERSEDED, B.WITHDRAWN}),
    B.SUPERSEDED: frozenset({B.LIVE, B.WITHDRAWN}),
    B.FAILED: frozenset({B.BUILDING, B.WITHDRAWN}),
    B.WITHDRAWN: frozenset(),
}
INBOX_MOVES: Mapping[InboxState, frozenset[InboxState]] = {
    I.RECEIVED: frozenset({I.APPLIED, I.STALE, I.WAITING, I.DEAD}),
    I.WAITING: frozenset({I.APPLIED, I.STALE, I.DEAD}),
    I.APPLIED: frozenset(),
    I.STALE: frozenset(),
    I.DEAD: frozenset({I.RECEIVED}),
}


# What a person may do to a job in this state; pausing asks for one that is not paused, resuming for one that is.
OPEN_JOB = frozenset({J.QUEUED, J.RUNNING})
JOB_ACTIONS: Mapping[str, frozenset[JobState]] = {
    "pause": OPEN_JOB,
    "resume": OPEN_JOB,
    "cancel": OPEN_JOB,
    "retry": frozenset({J.FAILED, J.QUARANTINED, J.CANCELLED}),
}


def may_act(action: str, state: JobState, paused: bool) -> bool:
    """True when the table allows the action on a job in this state."""
    return state in JOB_ACTIONS[action] and (action not in ("pause", "resume") or paused == (action == "resume"))


def may_move(moves: Mapping[StrEnum, frozenset[StrEnum]], before: StrEnum, after: StrEnum) -> bool:
    """True when the table allows the move."""
    return after in moves[before]
