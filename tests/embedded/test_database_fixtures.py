"""The fixtures that every test of the database stands on."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.db import InternalError, NotSupportedError, ProgrammingError, connections, transaction

from ingestion.models import EmbeddingSpace


def test_evidence_reads_one_snapshot_and_writes_nothing(committed_db: None) -> None:
    with transaction.atomic(using="evidence"), connections["evidence"].cursor() as cursor:
        cursor.execute("SHOW transaction_isolation")
        assert cursor.fetchone() == ("repeatable read",)
        cursor.execute("SHOW transaction_read_only")
        assert cursor.fetchone() == ("on",)
    with (
        pytest.raises((InternalError, NotSupportedError, ProgrammingError)),
        connections["evidence"].cursor() as cursor,
    ):
        cursor.execute("DELETE FROM ingestion_embeddingspace")


@pytest.mark.parametrize("turn", [1, 2])
def test_committed_rows_are_seen_elsewhere_and_gone_in_the_next_test(committed_db: None, turn: int) -> None:
    assert EmbeddingSpace.objects.count() == 0
    EmbeddingSpace.objects.create(name=f"turn-{turn}", dimensions=1, fingerprint="x")
    assert list(EmbeddingSpace.objects.using("evidence").values_list("name", flat=True)) == [f"turn-{turn}"]
    assert ContentType.objects.exists()


def test_guards_stand_again_after_the_emptying(committed_db: None) -> None:
    with connections["migrator"].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal AND tgenabled = 'D'")
        assert cursor.fetchone() == (0,)


def test_the_user_model_is_ours() -> None:
    assert get_user_model()._meta.label == "ingestion.User"


@pytest.mark.django_db
@pytest.mark.parametrize("turn", [1, 2])
def test_a_test_of_the_writer_alone_may_roll_back_instead(turn: int) -> None:
    with connections["default"].cursor() as cursor:
        cursor.execute("INSERT INTO django_session VALUES ('rolled-back', 'x', now())")
        cursor.execute("SELECT count(*) FROM django_session")
        assert cursor.fetchone() == (1,)
