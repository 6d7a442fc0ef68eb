"""The event bus over the Kafka protocol, with kafka-python: for Apache Kafka and for the embedded broker alike."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.errors import KafkaError, TopicAlreadyExistsError

from ingestion.seams.event_bus import BusUnavailable, Message

MAX_MESSAGE_BYTES = 2_000_000
COMMIT_SECONDS = 20  # a commit to a broker that died is given up after it; what it was for is read again
CLOSE_SECONDS = 5


class KafkaBus:
    """`security` holds kafka-python's SASL and TLS settings as they are."""

    def __init__(self, bootstrap_servers: Sequence[str], security: Mapping[str, Any] | None = None, seconds: float = 20.0) -> None:
        self.client: dict[str, Any] = {"bootstrap_servers": list(bootstrap_servers), **(security or {})}
        self.seconds = seconds

    def check(self, seconds: float) -> None:
        bound = int(seconds * 1000)
        try:
            admin = KafkaAdminClient(**self.client, request_timeout_ms=bound, bootstrap_timeout_ms=bound)
            try:
                admin.list_topics()
            finally:
                admin.close()
        except (KafkaError, OSError) as error:
            raise BusUnavailable(str(error)) from error

    def ensure_topics(self, topics: Mapping[str, int]) -> None:
        try:
            admin = KafkaAdminClient(**self.client, request_timeout_ms=int(self.seconds * 1000))
        except KafkaError as error:
            raise BusUnavailable(str(error)) from error
        try:
            missing = sorted(set(topics) - set(admin.list_topics()))
            for name in missing:
                try:
                    admin.create_topics([NewTopic(name, num_partitions=topics[name], replication_factor=-1)])
                except TopicAlreadyExistsError:
                    continue
        except KafkaError as error:
            raise BusUnavailable(str(error)) from error
        finally:
            admin.close()

    def publisher(self) -> KafkaPublisher:
        return KafkaPublisher(self.client, self.seconds)

    def subscribe(self, group: str, topics: Sequence[str]) -> KafkaSubscription:
        return KafkaSubscription(self.client, group, topics)

    def read_all(self, topic: str) -> Iterator[Message]:
        try:
            consumer = KafkaConsumer(**self.client, enable_auto_commit=False, consumer_timeout_ms=1000)
        except KafkaError as error:
            raise BusUnavailable(str(error)) from error
        try:
            parts = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
            if not parts:
                return
            consumer.assign(parts)
            consumer.seek_to_beginning(*parts)
            ends = consumer.end_offsets(parts)
            while any(consumer.position(part) < ends[part] for part in parts):
                for records in consumer.poll(timeout_ms=1000).values():
                    yield from (_message(record) for record in records)
        finally:
            consumer.close()


class KafkaPublisher:
    def __init__(self, client: Mapping[str, Any], seconds: float) -> None:
        self.seconds = seconds
        try:
            self.producer = KafkaProducer(
                **client,
                acks="all",
                enable_idempotence=True,
                compression_type="gzip",
                max_request_size=MAX_MESSAGE_BYTES,
                max_block_ms=int(seconds * 1000),
                delivery_timeout_ms=int(seconds * 1000),
                request_timeout_ms=int(seconds * 500),
            )
        except KafkaError as error:
            raise BusUnavailable(str(error)) from error

    def publish(self, messages: Sequence[Message]) -> None:
        try:
            sent = [
                self.producer.send(m.topic, key=m.key, value=m.value, headers=list(m.headers.items())) for m in messages
            ]
            self.producer.flush(timeout=self.seconds)
            for future in sent:
                future.get(timeout=self.seconds)
        except KafkaError as error:
            raise BusUnavailable(str(error)) from error

    def close(self) -> None:
        self.producer.close(timeout=5)


class KafkaSubscription:
    """Rebalances cooperatively: what a member keeps, it goes on reading while others come and go."""

    def __init__(self, client: Mapping[str, Any], group: str, topics: Sequence[str]) -> None:
        self.paused = False
        self.looked_at = 0.0
        try:
            self.consumer = KafkaConsumer(
                **client,
                group_id=group,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                session_timeout_ms=6000,
                heartbeat_interval_ms=2000,
                max_partition_fetch_bytes=4 * MAX_MESSAGE_BYTES,
                partition_assignment_strategy=[CooperativeStickyAssignor],
            )
            self.consumer.subscribe(topics=list(topics), listener=_PauseKept(self))
        except KafkaError as error:
            raise BusUnavailable(str(error)) from error

    def pause(self) -> None:
        self.paused = True
        self.consumer.pause(*self.consumer.assignment())

    def resume(self) -> None:
        self.paused = False
        self.consumer.resume(*self.consumer.paused())

    def lag(self) -> int:
        try:
            return sum(max(0, end - self.consumer.position(part)) for part, end in self._ends().items())
        except KafkaError as error:
            raise BusUnavailable(str(error)) from error

    def _ends(self) -> dict[TopicPartition, int]:
        """Where each partition ends: what the last fetch said, or the broker says now, whichever is more.

        The embedded broker, asked, counts only the first message of the last batch.
        """
        asked = self.consumer.end_offsets(list(self.consumer.assignment()))
        return {part: max(end, self.consumer.highwater(part) or 0) for part, end in asked.items()}

    def _rewind_if_forgotten(self) -> None:
        """Read from the start where the broker holds less than was read: it forgot everything, and counts from nothing again."""
        if time.monotonic() < self.looked_at + 5 or not self.consumer.assignment():
            return
        self.looked_at = time.monotonic()
        ahead = [part for part, end in self._ends().items() if self.consumer.position(part) > end]
        if ahead:
            self.consumer.seek_to_beginning(*ahead)

    def poll(self, seconds: float, limit: int) -> list[Message]:
        try:
            records = self.consumer.poll(timeout_ms=int(seconds * 1000), max_records=limit)
            if not records:
                self._rewind_if_forgotten()
        except KafkaError as error:
            time.sleep(min(1.0, seconds))
            raise BusUnavailable(str(error)) from error
        return [_message(record) for batch in records.values() for record in batch]

    def commit(self) -> None:
        try:
            self.consumer.commit(timeout_ms=COMMIT_SECONDS * 1000)
        except KafkaError as error:
            raise BusUnavailable(str(error)) from error

    def close(self) -> None:
        """Go without a goodbye: the broker misses this member after the session's time, as it does one that was killed.

        A broker that is told of a leader's leave while others join may wait for that leader for ever, and all of them stand still;
        the embedded one does. kafka-python has no setting for it: a member that forgot its membership sends no LeaveGroup.
        """
        self.consumer._coordinator.reset_generation()
        self.consumer.close(autocommit=False, timeout_ms=CLOSE_SECONDS * 1000)


class _PauseKept(ConsumerRebalanceListener):
    """A pause outlasts a rebalance: partitions that are assigned meanwhile are paused as well."""

    def __init__(self, subscription: KafkaSubscription) -> None:
        self.subscription = subscription

    def on_partitions_revoked(self, revoked: Any) -> None:
        """Nothing is held back: what was polled and not committed is read again by whoever gets the partition."""

    def on_partitions_assigned(self, assigned: Any) -> None:
        if self.subscription.paused:
            self.subscription.consumer.pause(*assigned)


def _message(record: Any) -> Message:
    return Message(
        topic=record.topic,
        key=record.key,
        value=record.value or b"",
        headers=dict(record.headers or ()),
        partition=record.partition,
        offset=record.offset,
    )
