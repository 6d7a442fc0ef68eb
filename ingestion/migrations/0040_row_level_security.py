"""Row-level security: the reader's role sees a row only where the tags of its transaction open the row's access class.

The rule stands once, in `docmemo_may_see`; `VISIBLE_CLASSES_SQL` and every policy use it. What a table does:

- The reader's rule is RESTRICTIVE, beside a permissive policy that lets everything by: a permissive policy added later opens nothing.
- The writer has a permissive policy alone. A role that is neither has no policy and sees nothing.
- The owner is not forced, or a later migration of data would silently change no row; checks refuse a reader that owns tables.

Roles are found by what they may do, since an installation of one's own names them as it likes: who may insert is a writer, who may
only select is a reader. Nothing here needs a superuser or LEAKPROOF.
"""

from django.db import migrations

RULE = """
create function docmemo_may_see(tags uuid[], corpus_allow uuid[], document_allow uuid[], page_allow uuid[], deny uuid[])
    returns boolean language sql immutable parallel safe
begin atomic
    select corpus_allow && tags
       and (document_allow is null or document_allow && tags)
       and (page_allow is null or page_allow && tags)
       and not (deny && tags);
end;

create function docmemo_classes_for(organisation uuid, tags uuid[])
    returns table (id uuid) language sql stable parallel safe rows 100
begin atomic
    select ac.id from ingestion_accessclass ac
     where ac.organisation_id = organisation
       and docmemo_may_see(tags, ac.corpus_allow, ac.document_allow, ac.page_allow, ac.deny);
end;

-- STABLE and never IMMUTABLE: a plan kept for one person would show his rows to the next.
create function docmemo_organisation() returns uuid language sql stable parallel safe
begin atomic
    select nullif(current_setting('docmemo.organisation', true), '')::uuid;
end;

create function docmemo_tags() returns uuid[] language sql stable parallel safe
begin atomic
    select string_to_array(nullif(current_setting('docmemo.tags', true), ''), ',')::uuid[];
end;

-- Runs as the owner, since the classes are under a policy themselves; it takes nothing from its caller but the transaction's tags.
-- The sub-selects keep the planner from copying the reading of the tags into a condition for each row.
create function docmemo_seen_classes() returns table (id uuid) language sql stable parallel safe rows 100
    security definer set search_path = pg_catalog, pg_temp
begin atomic
    select c.id from docmemo_classes_for((select docmemo_organisation()), (select docmemo_tags())) c;
end;
"""

RULE_BACK = """
drop function docmemo_seen_classes();
drop function docmemo_tags();
drop function docmemo_organisation();
drop function docmemo_classes_for(uuid, uuid[]);
drop function docmemo_may_see(uuid[], uuid[], uuid[], uuid[], uuid[]);
"""

# As a hashed set and not as `= any (array(...))`: the planner takes an array of unknown length for ten elements, would rather read all
# postings of the visible classes than those of the question's words, and a thousand visible classes would be compared one by one.
BY_CLASS = "access_class_id in (select c.id from docmemo_seen_classes() c)"
BY_PAGE = "exists (select from ingestion_page p where p.id = page_id)"  # under the policy of pages
POLICIES = {
    "ingestion_accessclass": "id in (select c.id from docmemo_seen_classes() c)",
    "ingestion_buildaccesscount": BY_CLASS,
    "ingestion_page": BY_CLASS,
    "ingestion_passage": BY_CLASS,
    "ingestion_passagevector": BY_CLASS,
    "ingestion_pooledvector": BY_CLASS,
    "ingestion_multivector": BY_CLASS,
    "ingestion_posting": BY_CLASS,
    "ingestion_pagetext": BY_PAGE,
    "ingestion_block": BY_PAGE,
    "ingestion_schemafact": BY_PAGE,
    "ingestion_build": "exists (select from ingestion_buildaccesscount n where n.build_id = ingestion_build.id)",
    "ingestion_documentversion": "exists (select from ingestion_build b where b.version_id = ingestion_documentversion.id)",
    "ingestion_document": "exists (select from ingestion_build b where b.document_id = ingestion_document.id)",
    "ingestion_blob": "exists (select from ingestion_documentversion v where v.blob_id = ingestion_blob.id)",
}

# Sessions, the work on a document, its events and the audit are nothing that a question reads.
NOT_FOR_READERS = (
    "django_session",
    "ingestion_accessassignment",
    "ingestion_auditentry",
    "ingestion_auditpayload",
    "ingestion_buildliveness",
    "ingestion_deadletter",
    "ingestion_inboxevent",
    "ingestion_job",
    "ingestion_outboxevent",
    "ingestion_purge",
    "ingestion_stagerun",
)

# `{0}`: the table. Roles that may insert and roles that may only select, each as a list for TO; null where there is none.
ROLES = """
    select string_agg(quote_ident(grantee), ', ') filter (where writes),
           string_agg(quote_ident(grantee), ', ') filter (where not writes)
      into writers, readers
      from (select grantee, bool_or(privilege_type = 'INSERT') as writes from information_schema.role_table_grants
             where table_name = '{0}' and grantee not in (current_user, 'PUBLIC') and privilege_type in ('INSERT', 'SELECT')
             group by grantee) g;
"""


def _policy(table: str, rule: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"""
        alter table {table} enable row level security;
        do $$
        declare writers text; readers text;
        begin
            {ROLES.format(table)}
            if writers is not null then
                execute 'create policy writers on {table} to ' || writers || ' using (true) with check (true)';
            end if;
            if readers is not null then
                execute 'create policy readers on {table} for select to ' || readers || ' using (true)';
                execute 'create policy readers_see on {table} as restrictive for select to ' || readers
                     || ' using ({rule})';
            end if;
        end $$;
        """,
        f"""
        drop policy if exists readers_see on {table};
        drop policy if exists readers on {table};
        drop policy if exists writers on {table};
        alter table {table} disable row level security;
        """,
    )


def _revoked(table: str) -> migrations.RunSQL:
    # Back: `ingestion_corpus` still names the readers.
    return migrations.RunSQL(
        f"""
        do $$
        declare writers text; readers text;
        begin
            {ROLES.format(table)}
            if readers is not null then
                execute 'revoke select on {table} from ' || readers;
            end if;
        end $$;
        """,
        f"""
        do $$
        declare writers text; readers text;
        begin
            {ROLES.format("ingestion_corpus")}
            if readers is not null then
                execute 'grant select on {table} to ' || readers;
            end if;
        end $$;
        """,
    )


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0020_job_control"), ("sessions", "0001_initial")]

    operations = [
        migrations.RunSQL(RULE, RULE_BACK),
        *[_policy(table, rule) for table, rule in POLICIES.items()],
        *[_revoked(table) for table in NOT_FOR_READERS],
    ]
