"""Asks each source that is due what it holds now, one after another, and brings its documents up to date."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.utils import timezone

from ingestion.models import SourceConfiguration
from ingestion.models.source import PUSH
from ingestion.services.source_sync import source_sync
from workers.loop import repeat, stop_on_signals

logger = logging.getLogger(__name__)

IDLE_SECONDS = 1.0


def watch_once(stop: Callable[[], bool] = lambda: False) -> int:
    """Sync every source that is due; returns how many events were sent."""
    due = SourceConfiguration.objects.filter(enabled=True, next_due_at__lte=timezone.now()).exclude(kind=PUSH)
    sent = 0
    for configuration in list(due.select_related("source").order_by("next_due_at")):
        if stop():
            break
        outcome = source_sync(configuration=configuration, stop=stop)
        sent += len(outcome.events)
        if outcome.events or outcome.state not in ("complete", "busy"):
            logger.info(
                "source %s: %s, %s listed, %s sent, %s lists changed, %s deleted, %s refused. %s", configuration.source.name,
                outcome.state, outcome.listed, outcome.submitted, outcome.access_changed, outcome.deleted, len(outcome.refused),
                outcome.message,
            )  # fmt: skip
    return sent


def main() -> None:
    stop = stop_on_signals()

    def step() -> bool:
        watch_once(stop.is_set)
        return False

    repeat("the watcher", step, stop, idle_seconds=IDLE_SECONDS)
