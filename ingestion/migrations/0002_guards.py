"""What the database itself refuses or does, whoever asks: illegal moves of states, changes to the audit chain, stale access epochs.

The allowed moves are frozen here as they stood in `ingestion/domain/lifecycle.py`; a test holds the two equal.
"""

from django.db import migrations

MOVES = {
    "ingestion_job": (
        "queued>running queued>failed queued>quarantined queued>superseded queued>cancelled "
        "running>published running>failed running>quarantined running>superseded running>cancelled "
        "failed>queued failed>superseded quarantined>queued quarantined>superseded cancelled>queued cancelled>superseded"
    ),
    "ingestion_stagerun": (
        "pending>running pending>cancelled running>done running>failed running>pending running>cancelled "
        "failed>pending cancelled>pending"
    ),
    "ingestion_build": (
        "building>live building>failed building>withdrawn live>superseded live>withdrawn superseded>live "
        "superseded>withdrawn failed>building failed>withdrawn"
    ),
    "ingestion_inboxevent": (
        "received>applied received>stale received>waiting received>dead waiting>applied waiting>stale waiting>dead dead>received"
    ),
}

CHECK_MOVE = """
create function docmemo_check_move() returns trigger language plpgsql set search_path = pg_catalog as $$
begin
    if new.state is distinct from old.state
       and not (old.state || '>' || new.state) = any (string_to_array(tg_argv[0], ' ')) then
        raise exception 'illegal move of %: % to %', tg_table_name, old.state, new.state using errcode = 'check_violation';
    end if;
    return new;
end $$;
"""

AUDIT = """
create function docmemo_audit_refuse() returns trigger language plpgsql set search_path = pg_catalog as $$
begin
    raise exception 'the audit chain is append-only' using errcode = 'insufficient_privilege';
end $$;
create trigger audit_append_only before update or delete on ingestion_auditentry
    for each row execute function docmemo_audit_refuse();
create trigger audit_no_truncate before truncate on ingestion_auditentry
    for each statement execute function docmemo_audit_refuse();

create function docmemo_audit_chain() returns trigger language plpgsql set search_path = pg_catalog, public as $$
declare head record;
begin
    select position, entry_hash into head from ingestion_auditentry
     where organisation_id = new.organisation_id order by position desc limit 1;
    if new.position <> coalesce(head.position, 0) + 1 or new.previous_hash <> coalesce(head.entry_hash, repeat('0', 64)) then
        raise exception 'the audit entry does not continue the chain' using errcode = 'integrity_constraint_violation';
    end if;
    return new;
end $$;
create trigger audit_continues before insert on ingestion_auditentry
    for each row execute function docmemo_audit_chain();

create function docmemo_payload_guard() returns trigger language plpgsql set search_path = pg_catalog as $$
begin
    if tg_op = 'UPDATE' and new.id = old.id and new.entry_id = old.entry_id and new.name = old.name
       and old.erased_at is null and new.erased_at is not null and new.content is null and new.salt = '' then
        return new;
    end if;
    raise exception 'an audit payload can only be erased' using errcode = 'insufficient_privilege';
end $$;
create trigger payload_erase_only before update or delete on ingestion_auditpayload
    for each row execute function docmemo_payload_guard();
create trigger payload_no_truncate before truncate on ingestion_auditpayload
    for each statement execute function docmemo_audit_refuse();

do $$
declare role_name text;
begin
    for role_name in
        select distinct grantee from information_schema.role_table_grants
         where table_name in ('ingestion_auditentry', 'ingestion_auditpayload') and grantee not in (current_user, 'PUBLIC')
    loop
        execute format('revoke update, delete, truncate on ingestion_auditentry from %I', role_name);
        execute format('revoke delete, truncate on ingestion_auditpayload from %I', role_name);
    end loop;
end $$;
"""

AUDIT_BACK = """
drop trigger payload_no_truncate on ingestion_auditpayload;
drop trigger payload_erase_only on ingestion_auditpayload;
drop function docmemo_payload_guard();
drop trigger audit_continues on ingestion_auditentry;
drop function docmemo_audit_chain();
drop trigger audit_no_truncate on ingestion_auditentry;
drop trigger audit_append_only on ingestion_auditentry;
drop function docmemo_audit_refuse();
"""

EPOCH = """
create function docmemo_move_access_epoch() returns trigger language plpgsql set search_path = pg_catalog, public as $$
declare changed jsonb; organisation uuid;
begin
    foreach changed in array array[to_jsonb(old), to_jsonb(new)] loop
        continue when changed is null or changed = 'null'::jsonb;
        if tg_table_name = 'ingestion_membership' then
            select p.organisation_id into organisation from ingestion_principal p where p.id = (changed->>'group_id')::uuid;
        elsif tg_table_name = 'ingestion_accessassignment' then
            select c.organisation_id into organisation from ingestion_corpus c where c.id = (changed->>'corpus_id')::uuid;
        else
            organisation := (changed->>'organisation_id')::uuid;
        end if;
        update ingestion_organisation set access_epoch = access_epoch + 1 where id = organisation;
        exit when tg_op <> 'UPDATE' or to_jsonb(old)->>'organisation_id' is not distinct from to_jsonb(new)->>'organisation_id';
    end loop;
    return null;
end $$;
create trigger access_epoch after insert or update or delete on ingestion_membership
    for each row execute function docmemo_move_access_epoch();
create trigger access_epoch after insert or update or delete on ingestion_accessassignment
    for each row execute function docmemo_move_access_epoch();
create trigger access_epoch after update or delete on ingestion_principal
    for each row execute function docmemo_move_access_epoch();
create trigger access_epoch after update of is_active, organisation_id on ingestion_user
    for each row execute function docmemo_move_access_epoch();
create trigger access_epoch after update of deleted_at on ingestion_corpus
    for each row execute function docmemo_move_access_epoch();
"""

EPOCH_BACK = """
drop trigger access_epoch on ingestion_corpus;
drop trigger access_epoch on ingestion_user;
drop trigger access_epoch on ingestion_principal;
drop trigger access_epoch on ingestion_accessassignment;
drop trigger access_epoch on ingestion_membership;
drop function docmemo_move_access_epoch();
"""


def _moves(table: str, pairs: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"create trigger state_moves before update of state on {table} "
        f"for each row execute function docmemo_check_move('{pairs}');",
        f"drop trigger state_moves on {table};",
    )


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0001_initial")]

    operations = [
        migrations.RunSQL(CHECK_MOVE, "drop function docmemo_check_move();"),
        *[_moves(table, pairs) for table, pairs in MOVES.items()],
        migrations.RunSQL(AUDIT, AUDIT_BACK),
        migrations.RunSQL(EPOCH, EPOCH_BACK),
    ]
