"""Row-level security: what a query sees that forgot every filter. Without tags nothing; with them what the person may see."""

from __future__ import annotations

import threading

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.apps import apps
from django.db import DatabaseError, connections, transaction
from django.db.models import Count, Model

from ingestion.domain.evidence import Asker
from ingestion.models import (
    AccessClass,
    Block,
    Build,
    BuildAccessCount,
    Document,
    DocumentVersion,
    Page,
    PageText,
    Passage,
    PassageVector,
    PooledVector,
    Posting,
    SchemaFact,
)  # fmt: skip
from ingestion.selectors.evidence import ALIAS, CLAIM_SQL, snapshot
from ingestion.selectors.visibility import asker_for
from ingestion.services.purge import DERIVED_ROWS
from tests.access.reading import as_migrator, backend, claim, pages_seen, query
from tests.ingestion.fakes import Workbench

# Reached from a document, and neither a policy nor a purge's row of derived data: why that is right. The reader may not select them.
EXEMPT = {
    "ingestion.AccessAssignment": "access lists: intervals of who was let in, kept for as-of answers; they hold no content",
    "ingestion.Purge": "the receipt of a forgetting: numbers only, for people who manage",
    "ingestion.StageRun": "work, not content",
    "ingestion.Job": "work, not content",
    "ingestion.BuildLiveness": "when a build was live; read by the console",
    "qa.Question": "the asker's own words, read by the application's role; purged through the seam derived_store",
    "qa.Run": "as the question", "qa.RunPin": "as the question", "qa.Round": "as the question",
    "qa.Answer": "as the question", "qa.Claim": "as the question", "qa.Citation": "as the question",
}  # fmt: skip
CONTENT = (Page, PageText, Block, Passage, PassageVector, PooledVector, Posting, SchemaFact, BuildAccessCount)
PARENTS = (AccessClass, Build, DocumentVersion, Document)


def reached_from_a_document() -> list[type[Model]]:
    """Every model with a chain of foreign keys to a document or to one of its versions."""
    reached: list[type[Model]] = [Document]
    for model in reached:
        for relation in model._meta.related_objects:
            found = relation.related_model
            if found._meta.managed and found not in reached:
                reached.append(found)
    return reached


# --- every table ---------------------------------------------------------------------------------------


def test_every_table_that_leads_to_a_document_has_a_policy_or_is_closed_to_the_reader(bench: Workbench) -> None:
    under = {name for (name,) in as_migrator(
        "select c.relname from pg_class c where c.relrowsecurity and exists (select from pg_policy p where p.polrelid = c.oid"
        " and not p.polpermissive) and exists (select from pg_policy p where p.polrelid = c.oid and p.polpermissive)"
    )}  # fmt: skip
    readable = {name for (name,) in query(
        "select c.relname from pg_class c where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace"
        " and has_table_privilege(c.oid, 'select')"
    )}  # fmt: skip
    models = reached_from_a_document()
    assert {Page, PageText, Posting} <= set(models)
    bare = [m._meta.label for m in models if m._meta.db_table not in under and m._meta.label not in EXEMPT]
    assert bare == []
    open_to_reader = [m._meta.label for m in models if m._meta.db_table in readable - under]
    assert open_to_reader == []
    derived = {model for model, _ in DERIVED_ROWS} | {Document, DocumentVersion}
    forgotten = [m._meta.label for m in models if m._meta.app_label == "ingestion" and m not in derived and m._meta.label not in EXEMPT]
    assert forgotten == []


def test_the_reader_may_select_only_what_questions_need(bench: Workbench) -> None:
    """A new table is readable by the default of `ops/roles.sql`: decide here what it holds."""
    readable = {name for (name,) in query(
        "select c.relname from pg_class c where c.relkind in ('r', 'v', 'm', 'p') and c.relnamespace = 'public'::regnamespace"
        " and not c.relrowsecurity and has_table_privilege(c.oid, 'select')"
    )}  # fmt: skip
    ours = {model._meta.db_table for model in apps.get_models() if model._meta.app_label in ("ingestion", "qa")}
    people_and_places = {
        "ingestion_corpus", "ingestion_corpusepoch", "ingestion_embeddingspace", "ingestion_membership", "ingestion_organisation",
        "ingestion_principal", "ingestion_roleassignment",
    }  # fmt: skip
    assert readable & ours <= people_and_places
    assert "django_session" not in readable


def test_the_reader_knows_who_a_person_is_and_no_password(bench: Workbench) -> None:
    columns = query(
        "select attname from pg_attribute where attrelid = 'ingestion_user'::regclass and attnum > 0 and not attisdropped"
        " and has_column_privilege('ingestion_user'::regclass, attnum, 'select')"
    )
    assert {name for (name,) in columns} == {"id", "username", "is_active", "organisation_id"}
    for hidden in ("password", "is_superuser", "*"):
        with pytest.raises(DatabaseError, match="permission denied"):
            query(f"select {hidden} from ingestion_user")
        connections[ALIAS].close()


def test_the_reader_is_neither_owner_nor_superuser_and_has_only_restricted_policies(bench: Workbench) -> None:
    assert query("select rolsuper, rolbypassrls, rolcreaterole from pg_roles where rolname = current_user") == [(False, False, False)]
    assert query("select count(*) from pg_class where relowner = (select oid from pg_roles where rolname = current_user)") == [(0,)]
    member = "select count(*) from pg_roles r where r.rolname <> current_user and pg_has_role(current_user, r.oid, 'member')"
    assert query(member) == [(0,)]
    assert as_migrator("select proname from pg_proc where proname like 'docmemo%' and provolatile = 'i'") == [("docmemo_may_see",)]
    assert as_migrator("select proname from pg_proc where proname like 'docmemo%' and proleakproof") == []
    assert as_migrator("select count(*) from pg_class where relkind in ('v', 'm') and relnamespace = 'public'::regnamespace"
                       " and relname not like 'pg%'") == [(0,)]  # fmt: skip


# --- a query without a filter ---------------------------------------------------------------------------


def test_without_tags_a_query_without_a_filter_sees_nothing(papers: Workbench) -> None:
    for model in (*CONTENT, *PARENTS):
        assert model.objects.count() > 0, model
        assert list(model.objects.using(ALIAS).all()) == [], model
        assert model.objects.using(ALIAS).count() == 0, model
        assert not model.objects.using(ALIAS).exists(), model
        with transaction.atomic(using=ALIAS):
            assert model.objects.using(ALIAS).count() == 0, model


def test_with_tags_a_query_without_a_filter_sees_what_the_person_may_see(papers: Workbench) -> None:
    with snapshot(asker_for(papers.cast.alice)):
        assert sorted(Page.objects.using(ALIAS).values_list("document__external_id", "number")) == [("open.pdf", 1), ("open.pdf", 3)]
        for model in (PageText, Block, Passage, PassageVector, Posting, SchemaFact):
            assert set(model.objects.using(ALIAS).values_list("page__number", flat=True)) <= {1, 3}, model
            assert model.objects.using(ALIAS).exists(), model
        assert [d.external_id for d in Document.objects.using(ALIAS).all()] == ["open.pdf"]
        assert DocumentVersion.objects.using(ALIAS).count() == Build.objects.using(ALIAS).count() == 1
        assert BuildAccessCount.objects.using(ALIAS).aggregate(n=Count("id"))["n"] == 1
        assert query("select sum(pages) from ingestion_buildaccesscount") == [(2,)]
        assert query("select count(*), max(number) from ingestion_page") == [(2, 3)]
        assert query("select exists (select from ingestion_posting where lexeme = 'merger')") == [(False,)]
        joined = "select d.title from ingestion_pagetext t join ingestion_page p on p.id = t.page_id join ingestion_document d" \
            " on d.id = p.document_id where t.text like '%%euro%%' and %s"  # fmt: skip
        assert query(joined, True) == []


def test_people_without_access_see_nothing(papers: Workbench) -> None:
    """Whatever their roles: an administrator and an auditor manage, they do not read."""
    for who in ("bob", "admin", "auditor", "mallory"):
        with snapshot(asker_for(getattr(papers.cast, who))):
            assert [(who, model.__name__) for model in (*CONTENT, *PARENTS) if model.objects.using(ALIAS).exists()] == []


def test_the_writer_sees_and_writes_everything(papers: Workbench) -> None:
    assert Page.objects.count() == 5 and Document.objects.count() == 2
    assert Page.objects.update(role="body") == 5
    assert Page.objects.filter(number=1).first().delete()[0] > 0


def test_tags_of_another_organisation_open_nothing(papers: Workbench) -> None:
    """The same tags in another organisation: both must fit."""
    alice = asker_for(papers.cast.alice)
    with snapshot(Asker(alice.user_id, papers.cast.elsewhere.id, "alice", alice.tags)):
        assert Page.objects.using(ALIAS).count() == 0


# --- claims: absent, empty, garbage ---------------------------------------------------------------------


def test_one_claim_alone_opens_nothing(papers: Workbench) -> None:
    alice = asker_for(papers.cast.alice)
    for organisation, tags in ((alice.organisation_id, ""), ("", ",".join(map(str, alice.tags))), ("", "")):
        with transaction.atomic(using=ALIAS):
            claim(organisation, tags)
            assert Page.objects.using(ALIAS).count() == 0


def test_garbage_claims_open_nothing(papers: Workbench) -> None:
    alice = asker_for(papers.cast.alice)
    for tags in ("x", "{}", "NULL", "%s,NULL", "%s},{%s", "%s;%s", "%s,", " ", "' or true --"):
        text = tags.replace("%s", str(sorted(alice.tags)[0]))
        with pytest.raises(DatabaseError), transaction.atomic(using=ALIAS):
            claim(alice.organisation_id, text)
            raise AssertionError(f"{text} opened {pages_seen()} pages")
        assert pages_seen() == 0


# --- claims end with their transaction -------------------------------------------------------------------


def _clean_end(alice: Asker) -> None:
    with snapshot(alice):
        assert pages_seen() == 2


def _after_an_exception(alice: Asker) -> None:
    with pytest.raises(ZeroDivisionError), snapshot(alice):
        assert pages_seen() == 2
        raise ZeroDivisionError


def _after_a_database_error(alice: Asker) -> None:
    with pytest.raises(DatabaseError), snapshot(alice):
        query("select 1 / 0 from ingestion_page")


def _after_a_savepoint(alice: Asker) -> None:
    with snapshot(alice):
        with pytest.raises(ZeroDivisionError), transaction.atomic(using=ALIAS):
            raise ZeroDivisionError
        assert pages_seen() == 2


def test_the_next_borrower_of_the_connection_sees_nothing(papers: Workbench) -> None:
    before = backend()
    for way in (_clean_end, _after_an_exception, _after_a_database_error, _after_a_savepoint):
        way(asker_for(papers.cast.alice))
        assert backend() == before, "the connection must be the same one"
        assert pages_seen() == 0
        with snapshot(asker_for(papers.cast.bob)):
            assert pages_seen() == 0
        with transaction.atomic(using=ALIAS):
            assert pages_seen() == 0


def test_tags_set_in_a_savepoint_end_with_its_rollback(papers: Workbench) -> None:
    alice = asker_for(papers.cast.alice)
    with transaction.atomic(using=ALIAS):
        with pytest.raises(ZeroDivisionError), transaction.atomic(using=ALIAS):
            claim(alice.organisation_id, alice.tags)
            assert pages_seen() == 2
            raise ZeroDivisionError
        assert pages_seen() == 0


def test_a_snapshot_within_a_snapshot_is_refused(papers: Workbench) -> None:
    """The inner one's tags would stay in force for the outer one: SET LOCAL outlives a released savepoint."""
    alice, bob = asker_for(papers.cast.alice), asker_for(papers.cast.bob)
    with snapshot(bob):
        with pytest.raises(RuntimeError), snapshot(alice):
            raise AssertionError("not reached")
        assert pages_seen() == 0


def test_set_local_outside_a_transaction_does_nothing(papers: Workbench) -> None:
    alice = asker_for(papers.cast.alice)
    claim(alice.organisation_id, alice.tags)
    assert pages_seen() == 0


def test_the_product_sets_claims_for_the_transaction_only() -> None:
    """A session-level SET would be the next borrower's; CLAIM_SQL is the one place that sets claims."""
    assert CLAIM_SQL.count("set_config(") == CLAIM_SQL.count(", true)") == 2


# --- threads and async -----------------------------------------------------------------------------------


def test_people_at_the_same_time_see_their_own(papers: Workbench) -> None:
    alice, bob = asker_for(papers.cast.alice), asker_for(papers.cast.bob)
    inside, seen = threading.Barrier(2, timeout=30), {}

    def look(name: str, asker: Asker) -> None:
        with snapshot(asker):
            inside.wait()
            seen[name] = pages_seen()
            inside.wait()
        seen[name, "after"] = pages_seen()
        connections.close_all()

    threads = [threading.Thread(target=look, args=item) for item in (("alice", alice), ("bob", bob))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"alice": 2, "bob": 0, ("alice", "after"): 0, ("bob", "after"): 0}


def test_async_callers_do_not_inherit_tags(papers: Workbench) -> None:
    """sync_to_async runs all of them on one thread, hence on one connection, one after the other."""

    def look(asker: Asker | None) -> tuple[int, int]:
        if asker is None:
            return backend(), pages_seen()
        with snapshot(asker):
            return backend(), pages_seen()

    async def all_of_them() -> list[tuple[int, int]]:
        return [await sync_to_async(look)(who) for who in (asker_for_alice, None, asker_for_bob, asker_for_alice)]

    asker_for_alice, asker_for_bob = asker_for(papers.cast.alice), asker_for(papers.cast.bob)
    found = async_to_sync(all_of_them)()
    assert len({backend for backend, _ in found}) == 1
    assert [pages for _, pages in found] == [2, 0, 0, 2]
