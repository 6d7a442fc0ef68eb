"""Seeing what the processes of a home are doing at a moment: stage runs they hold, transactions they are in, what waits for them."""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from django.db import connection
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from docmemo_site.drill.patience import patiently
from docmemo_site.embedded import control, process
from docmemo_site.embedded.home import Home
from ingestion.domain.events import DOCUMENTS_TOPIC
from ingestion.models import InboxEvent, OutboxEvent, StageRun
from workers.consumer import GROUP


@dataclass(frozen=True)
class HeldRun:
    """A stage run and the process that holds it."""

    id: str
    stage: str
    pid: int
    token: int

    def __str__(self) -> str:
        return f"stage run {self.id} ({self.stage}, token {self.token}) of process {self.pid}"


def program_pid(home: Home, name: str) -> int | None:
    """The process of a program or service as the supervisor last said, if it lives."""
    for row in control.status(home).processes:
        if row["name"] == name and row["pid"] is not None and process.began(int(str(row["pid"]))) is not None:
            return int(str(row["pid"]))
    return None


def held_runs() -> list[HeldRun]:
    """Every stage run that a living process of this machine holds now."""
    host = socket.gethostname()
    rows = patiently(lambda: list(StageRun.objects.filter(state="running").values_list("id", "stage", "worker", "fencing_token")))
    found = []
    for run_id, stage, worker, token in rows:
        name, _, pid = worker.rpartition(":")
        if name == host and pid.isdigit() and process.began(int(pid)) is not None:
            found.append(HeldRun(str(run_id), stage, int(pid), token))
    return found


def still_holds(held: HeldRun) -> bool:
    """Whether the run is still held under the same token."""
    return patiently(lambda: StageRun.objects.filter(id=held.id, state="running", fencing_token=held.token).exists())


def waiting() -> str:
    """How much is under way, in words."""

    def count() -> str:
        running = StageRun.objects.filter(state="running").count()
        due = StageRun.objects.filter(state="pending").count()
        inbox = InboxEvent.objects.filter(state__in=["received", "waiting"]).count()
        outbox = OutboxEvent.objects.filter(published_at__isnull=True).count()
        return f"{running} stage runs held, {due} pending, {inbox} events not in effect, {outbox} outbox rows unpublished"

    return patiently(count)


@contextmanager
def held_still(pid: int) -> Iterator[None]:
    """Stop a process for a look at it; it goes on afterwards, unless it was killed meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def transaction_of(pid: int) -> str:
    """The statement of the open transaction that this process has in the database, or an empty string."""
    ports = _local_ports(pid)
    if not ports:
        return ""

    def look() -> str:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT state, query FROM pg_stat_activity WHERE client_port = ANY(%s)"
                " AND (state LIKE 'idle in transaction%%' OR state = 'active')",
                [ports],
            )
            row = cursor.fetchone()
        return "" if row is None else f"{row[0]}: {_verb(row[1])}"

    return patiently(look)


def offsets_in_flight(servers: Sequence[str]) -> str:
    """Messages of the documents' topic that the consumer's group has not committed, by partition, or why that cannot be said."""
    try:
        looker = KafkaConsumer(bootstrap_servers=list(servers), group_id=GROUP, enable_auto_commit=False)
    except KafkaError as error:
        return f"the broker does not say what is in flight: {type(error).__name__}"
    try:
        parts = [TopicPartition(DOCUMENTS_TOPIC, number) for number in sorted(looker.partitions_for_topic(DOCUMENTS_TOPIC) or ())]
        ends = looker.end_offsets(parts)
        committed = {part: looker.committed(part) or 0 for part in parts}
        ranges = [f"{part.partition}:{committed[part]}-{ends[part] - 1}" for part in parts if ends[part] > committed[part]]
        return "offsets in flight " + (" ".join(ranges) or "none")
    except KafkaError as error:
        return f"the broker does not say what is in flight: {type(error).__name__}"
    finally:
        looker.close(autocommit=False)


def _verb(query: str) -> str:
    """What a statement does to which table, without its values."""
    verb = query.split(None, 1)[0] if query.strip() else "?"
    table = re.search(r"(?:FROM|INTO|UPDATE)\s+\"?(\w+)", query)
    return f"{verb} {table.group(1)}" if table else verb


def _local_ports(pid: int) -> list[int]:
    """Local ports of the TCP connections of a process (Linux)."""
    inodes = set()
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            found = re.match(r"socket:\[(\d+)\]", os.readlink(entry))
            if found:
                inodes.add(found.group(1))
    except OSError:
        return []
    ports = []
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[9] in inodes:
            ports.append(int(fields[1].rpartition(":")[2], 16))
    return ports
