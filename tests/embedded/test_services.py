"""The three services start, stop, survive being killed and find another port when theirs is taken."""

from __future__ import annotations

import os
import socket
import sys
import threading

import psycopg
import pytest
import redis
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient

from docmemo_site.embedded import kafka, postgres, process, services, valkey
from docmemo_site.embedded.errors import StartFailed
from docmemo_site.embedded.home import Home
from docmemo_site.embedded.state import HOST, Services, load, load_or_create
from tests.embedded.conftest import kill_everything

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="leftovers are found by /proc, which is Linux")


def pids(home: Home, known: Services) -> dict[str, int | None]:
    found = {name: services.running(home, known, name) for name in services.NAMES}
    return {name: None if one is None else one.pid for name, one in found.items()}


def remember(known: Services, word: str) -> None:
    """Write `word` to what must outlive a kill: a table and a Celery queue."""
    with psycopg.connect(known.database_url("migrator"), autocommit=True) as owner:
        owner.execute("CREATE TABLE IF NOT EXISTS kept (word text)")
        owner.execute("INSERT INTO kept VALUES (%s)", [word])
    with redis.Redis.from_url(known.broker_url) as broker:
        broker.rpush("kept", word)


def remembered(known: Services) -> tuple[list[str], list[str]]:
    with psycopg.connect(known.database_url("reader")) as reader:
        rows = [word for (word,) in reader.execute("SELECT word FROM kept").fetchall()]
    with redis.Redis.from_url(known.broker_url, decode_responses=True) as broker:
        return rows, broker.lrange("kept", 0, -1)


@LINUX
def test_start_again_stop_and_start_keep_address_and_data(own_home: Home) -> None:
    known = services.start(own_home)
    first = pids(own_home, known)
    assert all(first.values())
    remember(known, "before")

    assert services.start(own_home) == known
    assert pids(own_home, known) == first, "a second start touched what ran"

    for name in services.NAMES:
        with socket.socket() as other, pytest.raises(ConnectionRefusedError):
            # Every 127.x.x.x address is this machine; a listener on all addresses would answer here too.
            other.connect(("127.0.0.2", known.port(name)))

    producer = KafkaProducer(bootstrap_servers=known.kafka_address)
    producer.send("probe", b"hello").get(timeout=10)
    producer.close()

    assert services.stop(own_home)
    assert not any(pids(own_home, known).values())

    assert services.start(own_home) == known
    assert remembered(known) == (["before"], ["before"])


@LINUX
def test_killed_services_come_back_with_their_data(own_home: Home) -> None:
    known = services.start(own_home)
    remember(known, "kept")
    kill_everything(own_home)
    assert not any(pids(own_home, known).values())
    assert (postgres.data_folder(own_home) / "postmaster.pid").exists() is False, "the stale file stays"

    assert services.start(own_home) == known
    assert remembered(known) == (["kept"], ["kept"])
    admin = KafkaAdminClient(bootstrap_servers=known.kafka_address)
    assert "probe" not in admin.list_topics()
    admin.close()


@LINUX
def test_a_pid_file_that_names_a_stranger_is_not_believed(own_home: Home) -> None:
    known = services.start(own_home, ["postgres", "valkey"])
    kill_everything(own_home)
    # This very process: alive, and neither a postmaster nor a Valkey.
    (postgres.data_folder(own_home) / "postmaster.pid").write_text(f"{os.getpid()}\n/elsewhere\n")
    own_home.record_file("valkey").write_text(f'{{"pid": {os.getpid()}, "began": "1"}}')
    services.start(own_home, ["postgres", "valkey"])
    assert postgres.answers(known)
    assert valkey.answering(known)


@pytest.mark.parametrize("name", services.NAMES)
def test_a_taken_port_is_given_up(own_home: Home, name: str) -> None:
    before = load(own_home)
    assert before is not None
    with socket.socket() as stranger:
        stranger.bind((HOST, before.port(name)))
        stranger.listen()
        after = services.start(own_home, [name])
        assert after.port(name) != before.port(name)
        assert load(own_home) == after
        assert services.running(own_home, after, name) is not None
    others = [other for other in services.NAMES if other != name]
    assert [after.port(other) for other in others] == [before.port(other) for other in others]


def test_a_port_that_is_still_closing_is_waited_for(own_home: Home) -> None:
    before = load(own_home)
    assert before is not None
    closing = socket.socket()
    closing.bind((HOST, before.kafka_port))
    closing.listen()
    threading.Timer(0.5, closing.close).start()
    assert services.start(own_home, ["kafka"], move=False) == before


def test_lost_passwords_are_told_at_once(own_home: Home) -> None:
    services.start(own_home, ["postgres"])
    services.stop(own_home)
    own_home.services_file.unlink()
    load_or_create(own_home, durable=False)
    with pytest.raises(StartFailed, match=r"services\.json"):
        services.start(own_home, ["postgres"])


@LINUX
def test_an_orphan_whose_record_is_lost_is_found_by_its_mark(own_home: Home) -> None:
    services.start(own_home, ["kafka"])
    lost = kafka.running(own_home)
    assert lost is not None
    process.forget_record(own_home, "kafka")
    assert kafka.running(own_home) is None
    assert process.stop_marked(own_home) == [lost.pid]
    assert not lost.alive()


def test_secrets_are_the_owners_alone(own_home: Home) -> None:
    services.start(own_home, ["valkey"])
    assert own_home.run.stat().st_mode & 0o077 == 0
    for file in (own_home.services_file, own_home.run / "valkey.conf"):
        assert file.stat().st_mode & 0o077 == 0
    known = load(own_home)
    assert known is not None
    with socket.create_connection((HOST, known.valkey_port), timeout=5) as anybody:
        anybody.sendall(b"PING\r\n")
        assert anybody.recv(100).startswith(b"-NOAUTH")
