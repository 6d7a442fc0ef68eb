"""What the long-lived processes share: they stop when told, wait longer after each failure, and say what they caught."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable

from django.db import close_old_connections

from ingestion.selectors.schema import watch

logger = logging.getLogger(__name__)


def stop_on_signals() -> threading.Event:
    """An event that SIGTERM and SIGINT set."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


def repeat(name: str, step: Callable[[], bool], stop: threading.Event, idle_seconds: float) -> None:
    """Call `step` until told to stop; at once again when it says that there was work, else after a pause.

    While the database and this process's code are of different states nothing is done. A process that began with a database that
    fitted ends then, so that whoever keeps it alive starts it anew with the code as it is now.
    """
    failures, fitted = 0, False
    while not stop.is_set():
        try:
            close_old_connections()
            gap = watch.look()
            if gap:
                logger.error("%s does no work: %s", name, gap.sentence)
                if fitted:
                    return
                stop.wait(watch.every)
                continue
            fitted = True
            busy = step()
            failures = 0
        except Exception:
            # the outermost boundary of the process: brokers and databases come back
            failures += 1
            busy = False
            logger.exception("%s failed, for the %s. time in a row", name, failures)
        if not busy:
            stop.wait(idle_seconds if not failures else min(30.0, 0.5 * 2 ** min(failures, 6)))
