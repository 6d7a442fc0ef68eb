"""The reader of evidence knows of a person who he is and whether he is active; nothing of passwords, sessions and permissions."""

from django.db import migrations

COLUMNS = "id, username, is_active, organisation_id"
TABLES = ("ingestion_user_groups", "ingestion_user_user_permissions")
# Roles that may only select are readers: as migration 0040 finds them.
READERS = """
    select string_agg(quote_ident(grantee), ', ') filter (where not writes) into readers
      from (select grantee, bool_or(privilege_type = 'INSERT') as writes from information_schema.role_table_grants
             where table_name = 'ingestion_corpus' and grantee not in (current_user, 'PUBLIC')
               and privilege_type in ('INSERT', 'SELECT')
             group by grantee) g;
"""


def _for_readers(*changes: str) -> str:
    """Each change, with the readers' names at its end, where there are any."""
    executed = "\n".join(f"execute '{change} ' || readers;" for change in changes)
    return f"do $$ declare readers text; begin {READERS} if readers is not null then {executed} end if; end $$;"


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0053_consumer_lag")]

    operations = [
        migrations.RunSQL(
            _for_readers(
                "revoke select on ingestion_user from",
                f"grant select ({COLUMNS}) on ingestion_user to",
                *(f"revoke select on {table} from" for table in TABLES),
            ),
            _for_readers(
                f"revoke select ({COLUMNS}) on ingestion_user from",
                *(f"grant select on {table} to" for table in ("ingestion_user", *TABLES)),
            ),
        )
    ]
