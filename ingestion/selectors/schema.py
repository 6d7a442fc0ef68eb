"""Whether this process's code and the database are of one state: a process of another state does no work.

The database may lack migrations that the code needs, or hold some that the code does not know, since a newer one has migrated it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache

from django.apps import apps
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

LOOK_EVERY = 10.0
Key = tuple[str, str]


@dataclass(frozen=True)
class SchemaGap:
    """What keeps the code and the database apart; empty when they fit."""

    lacking: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.lacking or self.unknown)

    @property
    def sentence(self) -> str:
        """For a log or a person: what is wrong, and what mends it."""
        if self.unknown:
            return f"A newer DocMemo has migrated the database ({', '.join(self.unknown)}); this process runs older code: start it again."
        return f"The database lacks {', '.join(self.lacking)}: run manage.py migrate."


@cache
def _of_the_code() -> dict[Key, frozenset[Key]]:
    """Migrations that this process has loaded, each with those that it replaces; read once, as the code was."""
    loaded = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
    return {key: frozenset(map(tuple, migration.replaces)) for key, migration in loaded.items()}


def schema_gap() -> SchemaGap:
    """Compare the migrations of this process's code with those that the database has had."""
    code = _of_the_code()
    applied = set(MigrationRecorder(connection).applied_migrations())
    ours = {config.label for config in apps.get_app_configs()}
    replaced = {key for replaces in code.values() for key in replaces}
    # A squashed migration counts as applied where all that it replaces was, and the other way round.
    there = {key for key, replaces in code.items() if key in applied or (replaces and replaces <= applied)}
    there |= {old for key in there for old in code[key]}
    lacking = sorted(f"{app}.{name}" for app, name in set(code) - there)
    unknown = sorted(f"{app}.{name}" for app, name in applied - set(code) - replaced if app in ours)
    return SchemaGap(tuple(lacking), tuple(unknown))


class SchemaWatch:
    """Looks at the database at most every `every` seconds; a database that does not answer is no gap, since then nothing works anyway."""

    def __init__(self, every: float = LOOK_EVERY) -> None:
        self.every = every
        self.looked = float("-inf")
        self.gap = SchemaGap()

    def look(self) -> SchemaGap:
        """The gap as it was at the last look."""
        now = time.monotonic()
        if now - self.looked >= self.every:
            try:
                self.gap, self.looked = schema_gap(), now
            except DatabaseError:
                connection.close_if_unusable_or_obsolete()
        return self.gap


watch = SchemaWatch()
