"""Addresses are chosen once, by whoever comes first, and everybody agrees on them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from docmemo_site.embedded.home import Home, is_held, try_hold
from docmemo_site.embedded.state import PORT_RANGE, load, load_or_create, move_port
from docmemo_site.settings.env import REPOSITORY

READ = (
    "import sys, pathlib; from docmemo_site.embedded.home import Home;"
    "from docmemo_site.embedded.state import load_or_create;"
    "print(load_or_create(Home(pathlib.Path(sys.argv[1]))))"
)


def test_many_first_loads_at_once_agree(tmp_path: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", READ, str(tmp_path / "home")],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    said = {racer.communicate(timeout=60)[0] for racer in racers}
    assert len(said) == 1
    assert said == {f"{load(Home(tmp_path / 'home'))}\n"}


def test_passwords_and_ports_differ(tmp_path: Path) -> None:
    known = load_or_create(Home(tmp_path))
    passwords = {
        known.bootstrap_password,
        known.migrator_password,
        known.writer_password,
        known.reader_password,
        known.valkey_password,
    }
    assert len(passwords) == 5
    assert all(len(word) >= 32 for word in passwords)
    ports = {known.port(name) for name in ("postgres", "valkey", "kafka")}
    assert len(ports) == 3
    assert all(port in PORT_RANGE for port in ports)


def test_moving_a_port_changes_nothing_else(tmp_path: Path) -> None:
    home = Home(tmp_path)
    before = load_or_create(home)
    after = move_port(home, "kafka")
    assert after.kafka_port != before.kafka_port
    assert after == load(home)
    assert (after.postgres_port, after.valkey_port) == (before.postgres_port, before.valkey_port)
    assert after.writer_password == before.writer_password


def test_a_lock_is_held_by_the_living_only(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_held(path)
    hold = (
        "import sys, pathlib; from docmemo_site.embedded.home import try_hold;"
        "assert try_hold(pathlib.Path(sys.argv[1])) is not None; print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(path)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert is_held(path)
        assert try_hold(path) is None
        holder.kill()
        holder.wait()
        assert not is_held(path)
