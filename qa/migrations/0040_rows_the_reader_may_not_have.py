"""Questions, answers and what they cite are read by the application's own role; the reader of evidence gets nothing of them."""

from django.db import migrations

TABLES = ("qa_question", "qa_run", "qa_runpin", "qa_round", "qa_answer", "qa_claim", "qa_citation")
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
    dependencies = [("qa", "0020_run_attempts"), ("ingestion", "0040_row_level_security")]

    operations = [
        migrations.RunSQL(
            _statement(f"revoke select on {table} from", table), _statement(f"grant select on {table} to", "ingestion_corpus")
        )
        for table in TABLES
    ]
