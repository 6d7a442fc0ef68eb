"""Every pair of states: what the table allows, the database allows, and nothing else."""

from __future__ import annotations

import importlib
import itertools

import pytest
from django.db import IntegrityError, connections, transaction

from ingestion.domain.lifecycle import (
    BUILD_MOVES,
    INBOX_MOVES,
    JOB_MOVES,
    STAGE_MOVES,
    BuildState,
    InboxState,
    JobState,
    StageState,
    may_move,
)
from ingestion.models import Build, InboxEvent, Job, StageRun
from tests.ingestion.fakes import Workbench

MACHINES = [
    (Job, JobState, JOB_MOVES, "reason_code = 'x'"),
    (StageRun, StageState, STAGE_MOVES, "lease_until = now()"),
    (Build, BuildState, BUILD_MOVES, "language = ''"),
    (InboxEvent, InboxState, INBOX_MOVES, "reason = ''"),
]


@pytest.mark.parametrize(("model", "states", "moves", "needed"), MACHINES, ids=[m[0].__name__ for m in MACHINES])
def test_the_database_allows_exactly_the_moves_of_the_table(bench: Workbench, model, states, moves, needed) -> None:
    bench.publish("one page")
    key, table = model.objects.first().pk, model._meta.db_table
    for before, after in itertools.product(states, states):
        with transaction.atomic(using="migrator"), connections["migrator"].cursor() as cursor:
            cursor.execute(f"alter table {table} disable trigger state_moves")  # to reach the first state at all
            cursor.execute(f"update {table} set state = %s, {needed} where id = %s", [before.value, key])
            cursor.execute(f"alter table {table} enable trigger state_moves")
            try:
                with transaction.atomic(using="migrator"):
                    cursor.execute(f"update {table} set state = %s where id = %s", [after.value, key])
                allowed = True
            except IntegrityError as error:
                assert "illegal move" in str(error)
                allowed = False
            transaction.set_rollback(True, using="migrator")
        assert allowed == (before == after or may_move(moves, before, after)), f"{model.__name__}: {before} to {after}"


@pytest.mark.parametrize(("model", "states", "moves", "needed"), MACHINES, ids=[m[0].__name__ for m in MACHINES])
def test_the_migration_holds_the_same_table(model, states, moves, needed) -> None:
    frozen = importlib.import_module("ingestion.migrations.0002_guards").MOVES[model._meta.db_table]
    assert set(frozen.split()) == {f"{before}>{after}" for before in moves for after in moves[before]}


def test_an_unknown_state_is_refused(bench: Workbench) -> None:
    bench.publish("one page")
    with pytest.raises(IntegrityError), transaction.atomic():
        Job.objects.update(state="lost")
