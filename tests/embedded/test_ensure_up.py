"""What a command meets when it asks for the services before it uses them."""

from __future__ import annotations

import json
import socket
import subprocess
import sys

from docmemo_site.embedded.home import Home
from docmemo_site.embedded.state import HOST, load
from docmemo_site.settings.env import REPOSITORY, child_environment

ASK = """
import django, sys
django.setup()
from django.db import connection
from docmemo_site.embedded import ensure_up
report = ensure_up(services_only=True)
with connection.cursor() as cursor:
    cursor.execute("SELECT current_user")
    print(report.state, cursor.fetchone()[0], sys.argv[1])
"""


def run(home: Home, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run Python with `arguments` as a command of the test's own home."""
    return subprocess.run(
        [sys.executable, *arguments],
        env=child_environment(DOCMEMO_TEST_HOME=str(home.root), DOCMEMO_HOME=str(home.root), **more),
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_command_whose_port_moved_starts_itself_anew_with_its_arguments(own_home: Home) -> None:
    before = load(own_home)
    assert before is not None
    with socket.socket() as stranger:
        stranger.bind((HOST, before.postgres_port))
        stranger.listen()
        done = run(own_home, "-c", ASK, "my argument")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "services docmemo_writer my argument\n"
    after = load(own_home)
    assert after is not None
    assert after.postgres_port != before.postgres_port


def test_up_and_down_speak_json_on_standard_output_alone(own_home: Home) -> None:
    up = run(own_home, "manage.py", "up", "--services-only", "--json")
    assert up.returncode == 0, up.stderr
    report = json.loads(up.stdout)
    assert report["state"] == "services"
    assert [row["name"] for row in report["processes"]] == ["postgres", "valkey", "kafka"]
    assert "starting" in up.stderr

    again = run(own_home, "manage.py", "up", "--services-only", "--json")
    assert json.loads(again.stdout) == report

    down = run(own_home, "manage.py", "down", "--json")
    assert down.returncode == 0, down.stderr
    assert json.loads(down.stdout) == {"state": "down", "leftovers": []}


def test_services_of_ones_own_are_left_alone(own_home: Home) -> None:
    outside = {
        "DATABASE_URL": "postgresql://docmemo_writer:w@127.0.0.1:1/docs",
        "DATABASE_READER_URL": "postgresql://docmemo_reader:r@127.0.0.1:1/docs",
        "CELERY_BROKER_URL": "redis://127.0.0.1:1/0",
        "KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
        "SECRET_KEY": "x" * 50,
        "DJANGO_SETTINGS_MODULE": "docmemo_site.settings.base",
    }
    up = run(own_home, "manage.py", "up", "--json", **outside)
    assert up.returncode == 0, up.stderr
    assert json.loads(up.stdout) == {"state": "external", "reason": "", "processes": []}
    down = run(own_home, "manage.py", "down", "--json", **outside)
    assert down.returncode == 0, down.stderr
