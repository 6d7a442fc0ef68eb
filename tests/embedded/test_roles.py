"""The three database roles may do what they should and nothing else."""

from __future__ import annotations

import psycopg
import pytest

from docmemo_site.embedded.state import Services


@pytest.fixture
def table(postgres: Services):
    """A table made by the migrator, with one row."""
    with psycopg.connect(postgres.database_url("migrator"), autocommit=True) as owner:
        owner.execute("CREATE TABLE roles_probe (id bigint GENERATED ALWAYS AS IDENTITY, word text)")
        owner.execute("INSERT INTO roles_probe (word) VALUES ('first')")
        yield "roles_probe"
        owner.execute("DROP TABLE roles_probe")


def test_writer_changes_rows(postgres: Services, table: str) -> None:
    with psycopg.connect(postgres.database_url("writer")) as writer:
        writer.execute(f"INSERT INTO {table} (word) VALUES ('second')")
        writer.execute(f"UPDATE {table} SET word = 'other'")
        assert writer.execute(f"DELETE FROM {table}").rowcount == 2


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE mine (id int)",
        "CREATE TEMPORARY TABLE mine (id int)",
        "ALTER TABLE {table} ADD COLUMN more text",
        "DROP TABLE {table}",
        "TRUNCATE {table}",
        "CREATE ROLE another",
        "CREATE DATABASE another",
    ],
)
def test_writer_cannot_change_tables(postgres: Services, table: str, statement: str) -> None:
    with (
        psycopg.connect(postgres.database_url("writer"), autocommit=True) as writer,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        writer.execute(statement.format(table=table))


@pytest.mark.parametrize(
    "statement",
    ["INSERT INTO {table} (word) VALUES ('x')", "UPDATE {table} SET word = 'x'", "DELETE FROM {table}"],
)
def test_reader_cannot_write_even_when_it_asks_for_a_writing_transaction(
    postgres: Services, table: str, statement: str
) -> None:
    with psycopg.connect(postgres.database_url("reader"), autocommit=True) as reader:
        assert reader.execute(f"SELECT word FROM {table}").fetchall() == [("first",)]
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            reader.execute(statement.format(table=table))
        reader.execute("SET default_transaction_read_only = off")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reader.execute(statement.format(table=table))


def test_no_role_of_ours_is_above_the_rules(postgres: Services) -> None:
    with psycopg.connect(postgres.database_url("reader")) as reader:
        rows = reader.execute(
            "SELECT rolname, rolsuper, rolbypassrls, rolcreaterole FROM pg_roles WHERE rolname = ANY(%s)",
            [["docmemo_migrator", "docmemo_writer", "docmemo_reader"]],
        ).fetchall()
    assert len(rows) == 3
    assert not any(flag for _name, *flags in rows for flag in flags)


def test_passwords_are_scram_and_asked_for(postgres: Services) -> None:
    with psycopg.connect(postgres.database_url("bootstrap", "postgres")) as connection:
        rows = connection.execute("SELECT rolpassword FROM pg_authid WHERE rolcanlogin").fetchall()
    assert all(word.startswith("SCRAM-SHA-256$") for (word,) in rows)
    wrong = postgres.database_url("writer").replace(postgres.writer_password, "wrong")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(wrong, connect_timeout=3)


def test_databases_that_tests_make_have_vectors(postgres: Services) -> None:
    with psycopg.connect(postgres.database_url("migrator"), autocommit=True) as owner:
        owner.execute("CREATE DATABASE vector_probe")
        try:
            with psycopg.connect(postgres.database_url("migrator", "vector_probe")) as inside:
                assert inside.execute("SELECT '[1,2]'::vector <-> '[1,3]'::vector").fetchone() == (1.0,)
        finally:
            owner.execute("DROP DATABASE vector_probe")
