"""New passwords and keys: old ones stop working, processes that run go on, nothing is readable for others."""

from __future__ import annotations

import json
import subprocess
import sys

import psycopg
import pytest
from django.contrib.auth import SESSION_KEY
from django.core import signing
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import Client

from docmemo_site.embedded import postgres, services
from docmemo_site.embedded.home import Home
from docmemo_site.embedded.rotation import ROLES, database_passwords_rotate, secret_key_rotate
from docmemo_site.embedded.state import change_passwords, load
from docmemo_site.management.commands.rotate_demo_passwords import demo_passwords_change
from docmemo_site.settings import addresses
from docmemo_site.settings.env import REPOSITORY, child_environment
from ingestion.models import AuditEntry, Organisation, User
from tests.people import make_cast


def refused(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=3).close()
    except psycopg.OperationalError as error:
        return "password authentication failed" in str(error)
    return False


def test_old_passwords_stop_working_and_the_file_stays_private(own_home: Home) -> None:
    services.start(own_home, ["postgres"])
    before = load(own_home)
    assert database_passwords_rotate(own_home) == 0
    after = load(own_home)
    for role in ROLES:
        assert refused(before.database_url(role)) and not refused(after.database_url(role))
    assert own_home.services_file.stat().st_mode & 0o777 == 0o600
    assert (before.bootstrap_password, before.postgres_port) == (after.bootstrap_password, after.postgres_port)


def test_sessions_of_a_leaked_password_are_ended_when_said(own_home: Home) -> None:
    known = services.start(own_home, ["postgres"])
    with psycopg.connect(known.database_url("writer"), autocommit=True) as open_session:
        assert database_passwords_rotate(own_home, end_sessions=True) == 1
        with pytest.raises(psycopg.OperationalError):
            open_session.execute("SELECT 1")


def test_cut_off_in_between_the_next_start_sets_the_passwords_of_the_file(own_home: Home) -> None:
    services.start(own_home, ["postgres"])
    # The file was written, and the process died before the database committed.
    change_passwords(own_home, {role: f"new-password-of-{role}" for role in ROLES})
    assert not postgres.answers(load(own_home))
    services.start(own_home, ["postgres"])
    assert all(not refused(load(own_home).database_url(role)) for role in ROLES)


def test_a_process_that_runs_picks_the_new_passwords_up_when_it_connects_again(committed_db: None, embedded_home: Home) -> None:
    assert Organisation.objects.count() == 0
    known = load(embedded_home)
    database_passwords_rotate(embedded_home)
    try:
        assert Organisation.objects.count() == 0  # the session that was open stays open
        for alias in ("default", "evidence", "migrator"):
            connections[alias].close()
            with connections[alias].cursor() as cursor:
                cursor.execute("SELECT 1")
        assert refused(known.database_url("writer"))
    finally:
        # Other tests have read the former passwords.
        database_passwords_rotate(embedded_home, passwords={role: getattr(known, f"{role}_password") for role in ROLES})


def test_with_services_of_your_own_the_command_says_what_to_do(settings) -> None:
    settings.EMBEDDED_SERVICES = frozenset()
    with pytest.raises(CommandError, match="ops/roles.sql"):
        call_command("rotate_database_passwords")


CHECK = """
import django, sys
django.setup()
from django.core import signing
try:
    print(signing.loads(sys.argv[1]))
except signing.BadSignature:
    print("bad")
"""


def verified(home: Home, signed: str, **changes: str) -> str:
    """What a process that starts now makes of a signed value."""
    environment = child_environment(DOCMEMO_HOME=str(home.root), DJANGO_SETTINGS_MODULE="docmemo_site.settings.base", **changes)
    argv = [sys.executable, "-c", CHECK, signed]
    done = subprocess.run(argv, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_new_key_signs_and_the_former_one_still_verifies(own_home: Home) -> None:
    key = addresses.secret_key(own_home.root)
    signed = signing.dumps("told", key=key)
    assert secret_key_rotate(own_home) == 1
    assert addresses.secret_key(own_home.root) != key and addresses.secret_key_fallbacks(own_home.root) == [key]
    assert verified(own_home, signed) == "told"
    assert secret_key_rotate(own_home, drop_former=True) == 0
    assert verified(own_home, signed) == "bad"
    for name in ("secret_key", "secret_key_fallbacks"):
        assert (own_home.run / name).stat().st_mode & 0o777 == 0o600


def test_fallbacks_come_from_the_environment_too(own_home: Home) -> None:
    former, new = "f" * 50, "n" * 50
    signed = signing.dumps("told", key=former)
    assert verified(own_home, signed, SECRET_KEY=new, SECRET_KEY_FALLBACKS=f"{former},{'g' * 50}") == "told"
    assert verified(own_home, signed, SECRET_KEY=new) == "bad"


def test_demo_passwords_are_new_private_and_end_sessions(committed_db: None, embedded_home: Home) -> None:
    cast = make_cast()
    Organisation.objects.filter(id=cast.organisation.id).update(slug="demo")
    client = Client()
    client.force_login(User.objects.get(username="alice"))
    assert SESSION_KEY in client.session and client.get("/").status_code == 200
    path = embedded_home.root / "demo-passwords.json"
    passwords = demo_passwords_change(path)
    assert json.loads(path.read_text()) == passwords and path.stat().st_mode & 0o777 == 0o600
    assert set(passwords) == {"admin", "alice", "bob"}
    assert all(User.objects.get(username=name).check_password(password) for name, password in passwords.items())
    assert client.get("/").status_code == 302
    assert AuditEntry.objects.filter(act="person.password_changed").count() == 3
