"""Guessing passwords is slowed down: too many failed attempts for a name from an address close it for a while."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from django.core.cache import caches

MAX_FAILURES = 5
WINDOW_SECONDS = 15 * 60


@dataclass(frozen=True, slots=True)
class Attempts:
    """Counts attempts for one (name, address). An attempt is counted before the password is looked at, so that many at
    once cannot slip through; one that succeeds clears the count."""

    key: str

    @classmethod
    def of(cls, username: str, address: str) -> Attempts:
        digest = hashlib.sha256(f"{username.strip().casefold()}\0{address}".encode()).hexdigest()
        return cls(f"signin-attempts:{digest}")

    def begin(self) -> bool:
        """Count an attempt; False when there were too many in the window."""
        cache = caches["default"]
        cache.add(self.key, 0, WINDOW_SECONDS)
        try:
            return cache.incr(self.key) <= MAX_FAILURES
        except ValueError:  # the window ended between the two calls
            cache.set(self.key, 1, WINDOW_SECONDS)
            return True

    def clear(self) -> None:
        caches["default"].delete(self.key)
