"""The contract of the event bus, on the embedded broker and, where KAFKA_HOME points to one, on Apache Kafka."""

from __future__ import annotations

import socket
import subprocess
import time
import uuid
from collections.abc import Iterator

import pytest

from docmemo_site.embedded import kafka, services
from docmemo_site.embedded.home import Home
from docmemo_site.settings import env
from ingestion.seams.event_bus import BusUnavailable, EventBus, Message
from ingestion.seams.event_bus.kafka import KafkaBus


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def apache_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One KRaft node of the distribution at KAFKA_HOME."""
    home = env.folder("KAFKA_HOME")
    if home is None or not (home / "bin" / "kafka-server-start.sh").exists():
        pytest.skip("KAFKA_HOME points to no Apache Kafka")
    folder = tmp_path_factory.mktemp("kafka")
    port, controller = _free_port(), _free_port()
    lines = []
    for line in (home / "config" / "server.properties").read_text().splitlines():
        name = line.split("=")[0]
        if name not in ("log.dirs", "listeners", "advertised.listeners", "controller.quorum.bootstrap.servers"):
            lines.append(line)
    lines += [
        f"log.dirs={folder}/data",
        f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        f"advertised.listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        f"controller.quorum.bootstrap.servers=127.0.0.1:{controller}",
    ]
    configuration = folder / "server.properties"
    configuration.write_text("\n".join(lines))
    run_as = {"cwd": folder, "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    name = subprocess.run([home / "bin" / "kafka-storage.sh", "random-uuid"], capture_output=True, text=True, check=True, cwd=folder)
    subprocess.run(
        [home / "bin" / "kafka-storage.sh", "format", "-t", name.stdout.split()[-1], "-c", configuration, "--standalone"],
        check=True, **run_as,
    )  # fmt: skip
    broker = subprocess.Popen([home / "bin" / "kafka-server-start.sh", configuration], **run_as)
    try:
        for _ in range(120):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.5)
        else:
            pytest.fail("Apache Kafka did not open its port within a minute")
        yield f"127.0.0.1:{port}"
    finally:
        broker.terminate()
        broker.wait(timeout=30)


@pytest.fixture(params=["embedded", "apache"])
def bus(request: pytest.FixtureRequest) -> EventBus:
    address = request.getfixturevalue("kafka_broker" if request.param == "embedded" else "apache_kafka")
    return KafkaBus([address])


@pytest.fixture
def topic(bus: EventBus) -> str:
    name = f"t-{uuid.uuid4().hex[:8]}"
    bus.ensure_topics({name: 3})
    bus.ensure_topics({name: 3})  # again: a no-op
    return name


def _publish(bus: EventBus, messages: list[Message]) -> None:
    publisher = bus.publisher()
    publisher.publish(messages)
    publisher.close()


def _drain(subscription, count: int, seconds: float = 30.0) -> list[Message]:
    found: list[Message] = []
    deadline = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < deadline:
        found += subscription.poll(seconds=0.5, limit=100)
    return found


def test_messages_of_a_key_arrive_in_order(bus: EventBus, topic: str) -> None:
    _publish(bus, [Message(topic, b"key-%d" % (n % 3), b"%d" % n, {"h": b"v"}) for n in range(30)])
    subscription = bus.subscribe(f"g-{topic}", [topic])
    found = _drain(subscription, 30)
    subscription.close()
    assert sorted(int(m.value) for m in found) == list(range(30))
    for key in (b"key-0", b"key-1", b"key-2"):
        values = [int(m.value) for m in found if m.key == key]
        assert values == sorted(values)
    assert found[0].headers == {"h": b"v"} and found[0].offset >= 0


def test_what_was_read_is_not_read_again_while_nothing_comes(bus: EventBus, topic: str) -> None:
    _publish(bus, [Message(topic, b"k", b"%d" % n) for n in range(9)])  # one batch
    subscription = bus.subscribe(f"g-{topic}", [topic])
    assert len(_drain(subscription, 10, 12)) == 9
    subscription.close()


def test_a_group_goes_on_where_it_committed(bus: EventBus, topic: str) -> None:
    publisher = bus.publisher()
    publisher.publish([Message(topic, b"k", b"%d" % n) for n in range(5)])
    first = bus.subscribe(f"g-{topic}", [topic])
    assert len(_drain(first, 5)) == 5
    first.commit()
    first.close()
    publisher.publish([Message(topic, b"k", b"%d" % n) for n in range(5, 8)])
    second = bus.subscribe(f"g-{topic}", [topic])
    assert [int(m.value) for m in _drain(second, 3)] == [5, 6, 7]
    second.close()  # nothing was committed
    third = bus.subscribe(f"g-{topic}", [topic])
    assert [int(m.value) for m in _drain(third, 3)] == [5, 6, 7]
    third.close()
    publisher.close()


@pytest.mark.parametrize("seconds", [0.3, 5.0], ids=["before it had joined", "before it heard of the other"])
def test_a_leader_that_goes_while_another_joins_holds_nobody_up(bus: EventBus, topic: str, seconds: float) -> None:
    _publish(bus, [Message(topic, b"k%d" % n, b"") for n in range(9)])
    leader = bus.subscribe(f"g-{topic}", [topic])
    _drain(leader, 10, seconds)
    other = bus.subscribe(f"g-{topic}", [topic])
    _drain(other, 10, 0.5)
    leader.close()
    assert len(_drain(other, 9, 60)) == 9
    other.close()


def test_a_broker_that_forgot_everything_is_read_from_its_start(embedded_home: Home, kafka_broker: str) -> None:
    bus, topic = KafkaBus([kafka_broker]), f"t-{uuid.uuid4().hex[:8]}"
    bus.ensure_topics({topic: 1})
    subscription = bus.subscribe(f"g-{topic}", [topic])
    _publish(bus, [Message(topic, b"k", b"%d" % n) for n in range(5)])
    assert [m.value for m in _drain(subscription, 5, 60)] == [b"0", b"1", b"2", b"3", b"4"]
    kafka.stop(embedded_home)
    assert services.start(embedded_home, [kafka.NAME]).kafka_address == kafka_broker
    bus.ensure_topics({topic: 1})
    _publish(bus, [Message(topic, b"k", b"again")])
    assert [m.value for m in _drain(subscription, 1, 60)] == [b"again"]
    subscription.close()


def test_everything_of_a_topic_can_be_read_again(bus: EventBus, topic: str) -> None:
    assert list(bus.read_all(topic)) == []
    _publish(bus, [Message(topic, b"%d" % n, b"%d" % n) for n in range(10)])
    assert sorted(int(m.value) for m in bus.read_all(topic)) == list(range(10))


def test_a_broker_that_is_away_is_said_to_be() -> None:
    with pytest.raises(BusUnavailable):
        KafkaBus([f"127.0.0.1:{_free_port()}"], seconds=2.0).ensure_topics({"t": 1})


def test_what_waits_for_a_subscription_is_counted_also_while_it_pauses(bus: EventBus, topic: str) -> None:
    _publish(bus, [Message(topic, b"k", b"%d" % n) for n in range(9)])
    subscription = bus.subscribe(f"g-{topic}", [topic])
    assert subscription.lag() == 0  # nothing is assigned yet
    found: list[Message] = []
    while not found:
        found = subscription.poll(seconds=0.5, limit=4)
    assert subscription.lag() == 9 - len(found) > 0
    subscription.pause()
    _publish(bus, [Message(topic, b"k", b"later")])
    assert subscription.lag() == 10 - len(found)
    subscription.close()


def test_a_paused_subscription_gets_nothing_until_it_goes_on(bus: EventBus, topic: str) -> None:
    publisher = bus.publisher()
    subscription = bus.subscribe(f"g-{topic}", [topic])
    publisher.publish([Message(topic, b"k%d" % n, b"first") for n in range(9)])
    assert len(_drain(subscription, 9)) == 9
    subscription.commit()
    subscription.pause()
    publisher.publish([Message(topic, b"k%d" % n, b"second") for n in range(9)])
    assert _drain(subscription, 1, seconds=3.0) == []
    subscription.resume()
    assert {m.value for m in _drain(subscription, 9)} == {b"second"}
    subscription.close()
    publisher.close()


def test_a_pause_outlasts_a_rebalance(bus: EventBus, topic: str) -> None:
    publisher = bus.publisher()
    paused, other = bus.subscribe(f"g-{topic}", [topic]), bus.subscribe(f"g-{topic}", [topic])
    publisher.publish([Message(topic, b"k%d" % n, b"first") for n in range(9)])
    deadline, found = time.monotonic() + 40, []
    while len(found) < 9 and time.monotonic() < deadline:
        found += paused.poll(seconds=0.5, limit=100) + other.poll(seconds=0.5, limit=100)
    assert len(found) >= 9  # both are members and read their parts
    paused.commit()
    other.commit()
    paused.pause()
    other.close()  # its partitions go to the one that is paused
    publisher.publish([Message(topic, b"k%d" % n, b"second") for n in range(9)])
    assert _drain(paused, 1, seconds=12.0) == []
    paused.resume()
    assert [m.value for m in _drain(paused, 9)].count(b"second") == 9
    paused.close()
    publisher.close()
