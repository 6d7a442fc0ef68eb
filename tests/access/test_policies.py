"""Row-level security: plans kept for others, cursors, policies added later; and that the tests of it can fail."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.db import DatabaseError, connections, transaction

from ingestion.selectors.evidence import ALIAS, snapshot
from ingestion.selectors.visibility import asker_for
from tests.access.reading import as_migrator, claim, pages_seen, query
from tests.access.test_row_security import CONTENT, PARENTS
from tests.ingestion.fakes import Workbench

# --- plans, cursors, functions -----------------------------------------------------------------------------


def test_a_prepared_plan_serves_each_person_his_own(papers: Workbench) -> None:
    """A generic plan must read the claims anew; with an IMMUTABLE claim function it would not."""
    people = [asker_for(papers.cast.alice), asker_for(papers.cast.bob), asker_for(papers.cast.mallory)]
    with connections[ALIAS].cursor() as cursor:
        cursor.execute("set plan_cache_mode = force_generic_plan")
        cursor.execute("prepare pages_of_all as select count(*) from ingestion_page")
    for _ in range(12):
        seen = []
        for asker in people:
            with snapshot(asker):
                seen += query("execute pages_of_all")
        assert seen == [(2,), (0,), (0,)]
        assert query("execute pages_of_all") == [(0,)]
    connections[ALIAS].close()


def test_a_cursor_read_after_the_claims_are_gone_is_empty(papers: Workbench) -> None:
    alice = asker_for(papers.cast.alice)
    with transaction.atomic(using=ALIAS):
        claim(alice.organisation_id, alice.tags)
        with connections[ALIAS].cursor() as cursor:
            cursor.execute("declare c no scroll cursor for select id from ingestion_page")
        claim("", "")
        assert query("fetch all c") == []


def test_row_security_cannot_be_switched_off(papers: Workbench) -> None:
    with pytest.raises(DatabaseError), transaction.atomic(using=ALIAS):
        query("select set_config('row_security', 'off', true)")
        pages_seen()


def test_the_reader_cannot_make_functions_views_or_temporary_tables(bench: Workbench) -> None:
    for statement in (
        "create function pg_temp.f() returns int language sql as 'select 1'",
        "create temporary table t (a int)",
        "create view v as select 1",
    ):
        with pytest.raises(DatabaseError), transaction.atomic(using=ALIAS):
            query(statement)


def test_an_error_in_a_condition_is_not_raised_by_hidden_rows(papers: Workbench) -> None:
    """Functions that are not leakproof run after the policy: 1 / (number - 2) would fail on the hidden page 2."""
    with snapshot(asker_for(papers.cast.alice)):
        assert query("select count(*) from ingestion_page where 1 / (number - 2) is not null") == [(2,)]
    with pytest.raises(DatabaseError), transaction.atomic(), connections["default"].cursor() as cursor:
        cursor.execute("select count(*) from ingestion_page where 1 / (number - 2) is not null")


def test_a_permissive_policy_added_later_opens_nothing(papers: Workbench) -> None:
    as_migrator("create policy careless on ingestion_page for select to public using (true)")
    try:
        assert pages_seen() == 0
        with snapshot(asker_for(papers.cast.alice)):
            assert pages_seen() == 2
    finally:
        as_migrator("drop policy careless on ingestion_page")


def test_statistics_of_columns_are_not_readable(papers: Workbench) -> None:
    as_migrator("analyze ingestion_page", "analyze ingestion_pagetext")
    told = "select count(*) from pg_stats where tablename in ('ingestion_page', 'ingestion_pagetext')"
    assert as_migrator(told)[0][0] > 0
    assert query(told) == [(0,)]


def test_the_classes_are_worked_out_once_for_a_query_and_indexes_stay_in_use(papers: Workbench) -> None:
    """As a hashed set beside an index-only scan: no call of our functions for each row, no table read in whole."""
    as_migrator("vacuum analyze ingestion_posting")
    with snapshot(asker_for(papers.cast.alice)):
        query("select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)")
        told = "explain (costs off) select page_id, frequency from ingestion_posting where lexeme = 'pump'"
        plan = "\n".join(row[0] for row in query(told))
    assert "Index Only Scan using posting_search" in plan and "Index Cond: (lexeme = 'pump'::text)" in plan
    assert "hashed SubPlan" in plan
    assert plan.count("docmemo_") == 1 and "Function Scan on docmemo_seen_classes" in plan


# --- each test above can fail ---------------------------------------------------------------------------------


def test_without_the_policy_hidden_rows_show(papers: Workbench) -> None:
    """The oracle is no tautology: with a table's policies set aside the same query sees everything."""
    for model in (*CONTENT, *PARENTS):
        table = model._meta.db_table
        as_migrator(f"alter table {table} disable row level security")
        try:
            assert query(f"select count(*) from {table}")[0][0] > 0, table
        finally:
            as_migrator(f"alter table {table} enable row level security")
        assert query(f"select count(*) from {table}") == [(0,)], table


def test_an_immutable_claim_with_a_generic_plan_leaks(papers: Workbench) -> None:
    """Why the claim functions are STABLE and the classes a set: the test of prepared plans would notice a careless policy."""
    honest = "alter policy readers_see on ingestion_page using (access_class_id in (select c.id from docmemo_seen_classes() c))"
    as_migrator(
        "create function careless() returns uuid[] language sql immutable security definer"
        " begin atomic select array(select c.id from docmemo_seen_classes() c); end",
        "alter policy readers_see on ingestion_page using (access_class_id = any (careless()))",
    )
    try:
        with connections[ALIAS].cursor() as cursor:
            cursor.execute("set plan_cache_mode = force_generic_plan")
            cursor.execute("prepare leaky as select count(*) from ingestion_page")
        with snapshot(asker_for(papers.cast.alice)):
            query("execute leaky")
        assert query("execute leaky") == [(2,)]
    finally:
        as_migrator(honest, "drop function careless()")
        connections[ALIAS].close()


def test_the_migrations_go_back_and_forth(papers: Workbench) -> None:
    """The statements of both migrations, backwards and forwards again, leave the same policies and rights."""
    policies = """
        select polrelid::regclass::text, polname, polpermissive, polcmd, polroles::regrole[]::text, pg_get_expr(polqual, polrelid)
          from pg_policy order by 1, 2
    """
    grants = """
        select table_name, grantee, privilege_type from information_schema.role_table_grants
         where table_schema = 'public' order by 1, 2, 3
    """
    before = as_migrator(policies), as_migrator(grants)
    assert [row[1] for row in before[0]].count("readers_see") == 15
    operations = [
        operation
        for name in ("ingestion.migrations.0040_row_level_security", "qa.migrations.0040_rows_the_reader_may_not_have")
        for operation in import_module(name).Migration.operations
    ]
    as_migrator("begin", *(operation.reverse_sql for operation in reversed(operations)), "commit")
    try:
        assert pages_seen() == 5
        assert query("select count(*) from qa_run") == [(0,)]
    finally:
        as_migrator("begin", *(operation.sql for operation in operations), "commit")
    assert pages_seen() == 0
    assert (as_migrator(policies), as_migrator(grants)) == before
