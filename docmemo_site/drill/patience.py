"""Asking the database while it is being killed: ask again until it answers, within a bound."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from django.db import DatabaseError, InterfaceError, connection

SECONDS = 120.0
T = TypeVar("T")


def patiently(ask: Callable[[], T], seconds: float = SECONDS) -> T:
    """What `ask` returns, asked again over a new connection while the database is away; past the bound its error is raised."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return ask()
        except (DatabaseError, InterfaceError):
            connection.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
