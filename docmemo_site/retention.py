"""Retention over both apps: what would go, and taking it away batch by batch."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from ingestion.models import Organisation
from ingestion.seams import load
from ingestion.services import retention as kept
from qa.services import retention as questions

ACTOR = "retention"
# Nothing that is still written is this old.
ABANDONED_SECONDS = 24 * 60 * 60
RENDER_FOLDERS = "docmemo-render-*"


@dataclass(frozen=True)
class Outcome:
    """What was found to be past its time, and how much of it went."""

    kind: str
    days: int | None
    found: int
    gone: int


@dataclass(frozen=True)
class Rule:
    """One kind: how many are past their time, and a step that takes a batch away and says how many."""

    kind: str
    days: int | None
    count: Callable[[], int]
    step: Callable[[], int]


def retention_apply(*, dry_run: bool, dead_letters: bool = False, now: datetime | None = None) -> list[Outcome]:
    """Apply every rule that is set; with `dry_run` only count. A run that was cut off is simply run again."""
    outcomes = []
    for rule in _rules(now or timezone.now(), dead_letters):
        found, gone = rule.count(), 0
        if found and not dry_run:
            while batch := rule.step():
                gone += batch
        outcomes.append(Outcome(rule.kind, rule.days, found, gone))
    return outcomes


def _rules(now: datetime, dead_letters: bool) -> list[Rule]:
    days = settings.RETENTION_DAYS
    before = {kind: now - timedelta(days=count) for kind, count in days.items() if count}
    organisations = list(Organisation.objects.order_by("slug"))
    rules: list[Rule] = []

    def rule(kind: str, setting: str | None, count: Callable[[], int], step: Callable[[], int]) -> None:
        rules.append(Rule(kind, days[setting] if setting else None, count, step))

    for one in organisations:
        # Questions first: builds that only forgotten answers have named may then go too.
        _of_organisation(one, before, dead_letters, rule)
    if "events" in before:
        at = before["events"]
        rule("outbox", "events", kept.outbox_old(at).count, lambda: kept.outbox_forget(before=at, actor=ACTOR))
        if dead_letters:
            rule(
                "dead_letters", "events", kept.dead_letters_old(at).count, lambda: kept.dead_letters_forget(before=at, actor=ACTOR)
            )
    rule("sessions", None, _sessions(now).count, lambda: _sessions_end(now))
    rule("abandoned_files", None, _files_left, _files_clear)
    return rules


def _of_organisation(one: Organisation, before: dict[str, datetime], dead_letters: bool, rule: Callable[..., None]) -> None:
    who = {"organisation": one, "actor": ACTOR}
    if "questions" in before:
        at = before["questions"]
        rule("questions", "questions", questions.questions_old(one, at).count, lambda: questions.questions_forget(**who, before=at))
    if "superseded_builds" in before:
        old = before["superseded_builds"]
        rule("superseded_builds", "superseded_builds", kept.builds_old(one, old).count, lambda: kept.build_forget(**who, before=old))
    if "stage_runs" in before:
        done = before["stage_runs"]
        rule("stage_runs", "stage_runs", kept.stage_runs_old(one, done).count, lambda: kept.stage_runs_forget(**who, before=done))
    if "events" in before:
        seen = before["events"]
        rule("inbox", "events", kept.inbox_old(one, seen).count, lambda: kept.inbox_forget(**who, before=seen))
        if dead_letters:
            rule(
                "dead_events", "events", kept.inbox_old(one, seen, dead=True).count,
                lambda: kept.inbox_forget(**who, before=seen, dead=True),
            )  # fmt: skip
    rule("abandoned_pictures", None, lambda: len(kept.pictures_of_no_build(one)), lambda: kept.pictures_forget(**who))


def _sessions(now: datetime) -> QuerySet[Session]:
    return Session.objects.filter(expire_date__lt=now)


@transaction.atomic
def _sessions_end(now: datetime, limit: int = 1000) -> int:
    keys = list(_sessions(now).values_list("session_key", flat=True)[:limit])
    if keys:
        Session.objects.filter(session_key__in=keys).delete()
        kept.retention_record(organisation=None, kind="sessions", count=len(keys), before=now, actor=ACTOR)
    return len(keys)


def _render_folders() -> list[Path]:
    """Folders that a killed worker has left in the folder of temporary files."""
    return [
        path for path in Path(tempfile.gettempdir()).glob(RENDER_FOLDERS) if time.time() - path.stat().st_mtime > ABANDONED_SECONDS
    ]


def _files_left() -> int:
    return len(_render_folders()) + int(load("blobs").unfinished_clear(ABANDONED_SECONDS, only_count=True))


def _files_clear() -> int:
    """Clear half files; they are no rows, and nothing names them."""
    folders = _render_folders()
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    cleared = int(load("blobs").unfinished_clear(ABANDONED_SECONDS)) + sum(not folder.exists() for folder in folders)
    if cleared:
        with transaction.atomic():
            kept.retention_record(organisation=None, kind="abandoned_files", count=cleared, before=None, actor=ACTOR)
    return cleared
