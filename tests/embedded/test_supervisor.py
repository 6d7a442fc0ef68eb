"""The supervisor keeps what it watches alive, recovers from being killed, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import psycopg
import pytest

from docmemo_site.embedded import postgres, process, services
from docmemo_site.embedded.control import Report, down, status, up
from docmemo_site.embedded.errors import StartFailed
from docmemo_site.embedded.home import Home, is_held
from docmemo_site.embedded.state import load
from tests.embedded.conftest import kill_everything

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="leftovers are found by /proc, which is Linux")


def small(kind: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "tests.embedded.small_supervisor", kind)


def pid(report: Report, name: str) -> int:
    found = next(row["pid"] for row in report.processes if row["name"] == name)
    assert isinstance(found, int)
    return found


def test_up_twice_then_down_leaves_nothing(own_home: Home) -> None:
    first = up(own_home, supervisor=small("stubborn"))
    assert first.state == "up"
    assert {row["name"] for row in first.processes} == {"postgres", "valkey", "kafka", "sleeper", "stubborn"}
    assert up(own_home, supervisor=small("stubborn")).processes == first.processes
    assert len(process.marked(own_home)) >= 6

    assert down(own_home) == []
    assert status(own_home).state == "down"
    assert process.marked(own_home) == []
    assert down(own_home) == []


def test_what_dies_is_started_again(own_home: Home) -> None:
    before = up(own_home, supervisor=small("plain"))
    for name in ("sleeper", "valkey", "postgres"):
        os.kill(pid(before, name), signal.SIGKILL)

    def back() -> bool:
        now = status(own_home)
        return all(row["state"] == "running" for row in now.processes) and all(
            pid(now, name) != pid(before, name) for name in ("sleeper", "valkey", "postgres")
        )

    assert process.wait_until(back, seconds=40, pause=0.2)
    known = load(own_home)
    assert known is not None
    assert postgres.answers(known)


def test_after_a_kill_of_everything_a_second_up_finds_the_data(own_home: Home) -> None:
    up(own_home, supervisor=small("stubborn"))
    known = load(own_home)
    assert known is not None
    with psycopg.connect(known.database_url("migrator"), autocommit=True) as owner:
        owner.execute("CREATE TABLE kept AS SELECT 'here' AS word")
    kill_everything(own_home)
    assert not is_held(own_home.supervisor_lock)

    assert up(own_home, supervisor=small("stubborn")).state == "up"
    assert load(own_home) == known
    with psycopg.connect(known.database_url("reader")) as reader:
        assert reader.execute("SELECT word FROM kept").fetchone() == ("here",)


def test_leftovers_of_a_killed_supervisor_do_not_live_beside_the_new_ones(own_home: Home) -> None:
    before = up(own_home, supervisor=small("stubborn"))
    supervisor = process.load_record(own_home, "supervisor")
    assert supervisor is not None
    os.kill(supervisor.pid, signal.SIGKILL)
    assert process.wait_until(lambda: not supervisor.alive(), seconds=10)
    assert process.began(pid(before, "stubborn")), "this one ignores the end of its parent"

    after = up(own_home, supervisor=small("stubborn"))
    assert process.began(pid(before, "stubborn")) is None
    # The services were well and stay.
    assert [pid(after, name) for name in services.NAMES] == [pid(before, name) for name in services.NAMES]


@pytest.mark.parametrize(("kind", "words"), [("broken", "broken on purpose"), ("no-migration", "no such table")])
def test_a_start_that_cannot_succeed_says_why(own_home: Home, kind: str, words: str) -> None:
    with pytest.raises(StartFailed, match=words):
        up(own_home, supervisor=small(kind))
    down(own_home)
    assert process.marked(own_home) == []


def test_logs_stay_small(tmp_path: Path) -> None:
    log = tmp_path / "program.log"
    log.write_bytes(b"x" * (process.LOG_BYTES + 10))
    process.cap_log(log)
    assert log.stat().st_size == 0
    assert (tmp_path / "program.log.1").stat().st_size == process.LOG_BYTES
