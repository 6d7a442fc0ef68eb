"""The reader of evidence gets nothing of sources, uploads, tokens, passwords, heartbeats and directories."""

from django.db import migrations

TABLES = (
    "ingestion_apitoken",
    "ingestion_directorygroup",
    "ingestion_directoryperson",
    "ingestion_documentpassword",
    "ingestion_source",
    "ingestion_source_corpora",
    "ingestion_sourceconfiguration",
    "ingestion_sourceitem",
    "ingestion_upload",
    "ingestion_uploadpart",
    "ingestion_workerheartbeat",
)
# Roles that may only select are readers: as migration 0040 finds them.
ROLES = """
    select string_agg(quote_ident(grantee), ', ') filter (where not writes) into readers
      from (select grantee, bool_or(privilege_type = 'INSERT') as writes from information_schema.role_table_grants
             where table_name = '{0}' and grantee not in (current_user, 'PUBLIC') and privilege_type in ('INSERT', 'SELECT')
             group by grantee) g;
"""


def _statement(change: str, named_by: str) -> str:
    return f"""
    do $$
    declare readers text;
    begin
        {ROLES.format(named_by)}
        if readers is not null then
            execute '{change} ' || readers;
        end if;
    end $$;
    """


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0051_corpus_epoch")]

    operations = [
        migrations.RunSQL(
            _statement(f"revoke select on {table} from", table), _statement(f"grant select on {table} to", "ingestion_corpus")
        )
        for table in TABLES
    ]
