"""Apache Kafka for drills and tests: one KRaft node, or three of which one may die and stay dead."""

from __future__ import annotations

import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from docmemo_site.embedded import process
from docmemo_site.embedded.errors import StartFailed, UnsupportedPlatform
from docmemo_site.embedded.home import Home
from docmemo_site.embedded.state import HOST, free_ports
from docmemo_site.settings import env

START_SECONDS = 90.0
OWN = {
    "node.id", "log.dirs", "listeners", "advertised.listeners", "controller.quorum.bootstrap.servers", "controller.quorum.voters",
    "default.replication.factor", "min.insync.replicas", "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor", "transaction.state.log.min.isr",
    "share.coordinator.state.topic.replication.factor", "share.coordinator.state.topic.min.isr",
}  # fmt: skip


def why_not() -> str:
    """Why Apache Kafka cannot be started here, or an empty string."""
    folder = env.folder("KAFKA_HOME")
    if folder is None or not (folder / "bin" / "kafka-server-start.sh").exists():
        return "KAFKA_HOME points to no Apache Kafka"
    return "" if shutil.which("java") else "there is no java"


@dataclass
class Node:
    number: int
    port: int
    controller: int
    record: process.ProcessRecord | None = None


class Kafka:
    """`nodes` brokers below `home`; topics get as many replicas, and with three of them writes need two."""

    def __init__(self, home: Home, nodes: int) -> None:
        reason = why_not()
        if reason:
            raise UnsupportedPlatform(f"{reason}: set it, or use --bus embedded.")
        self.home = home
        self.programs = env.folder("KAFKA_HOME") or Path()
        ports = free_ports(2 * nodes)
        self.nodes = [Node(n + 1, ports[2 * n], ports[2 * n + 1]) for n in range(nodes)]

    @property
    def addresses(self) -> list[str]:
        return [f"{HOST}:{node.port}" for node in self.nodes]

    def start(self) -> None:
        """Format and start all nodes; returns when each listens, else raises StartFailed."""
        self.home.prepare()
        name = self._script("kafka-storage.sh", "random-uuid").split()[-1]
        for node in self.nodes:
            configuration = self._configure(node)
            alone = ["--standalone"] if len(self.nodes) == 1 else []
            self._script("kafka-storage.sh", "format", "-t", name, "-c", str(configuration), *alone)
        for node in self.nodes:
            self.spawn(node)
        for node in self.nodes:
            self.wait(node)

    def spawn(self, node: Node) -> None:
        """Start one node, new or after its death."""
        child = process.spawn(
            [self.programs / "bin" / "kafka-server-start.sh", self._folder(node) / "server.properties"],
            log=self.home.log_file(f"kafka-{node.number}"), env=process.environment(self.home), cwd=self._folder(node),
        )  # fmt: skip
        node.record = process.record(child.pid)

    def wait(self, node: Node) -> None:
        """Return when the node listens."""
        if not process.wait_until(lambda: _listens(node.port), seconds=START_SECONDS, pause=0.2):
            log = self.home.log_file(f"kafka-{node.number}")
            raise StartFailed(f"Kafka node {node.number} did not open its port:\n{process.last_lines(log)}")

    def kill(self, node: Node) -> None:
        """End one node as a power cut would; returns when its port is closed, which is a moment after its first thread is gone."""
        if node.record is not None:
            process.kill_session(node.record.pid)
            record = node.record
            process.wait_until(lambda: not record.alive() and not _listens(node.port), seconds=30)

    def stop(self) -> None:
        """End all nodes at once."""
        for node in self.nodes:
            if node.record is not None:
                process.kill_session(node.record.pid)

    def _folder(self, node: Node) -> Path:
        return self.home.root / "apache-kafka" / str(node.number)

    def _configure(self, node: Node) -> Path:
        folder = self._folder(node)
        folder.mkdir(parents=True)
        shipped = (self.programs / "config" / "server.properties").read_text().splitlines()
        lines = [line for line in shipped if line.split("=")[0].strip() not in OWN]
        replicas = len(self.nodes)
        needed = 2 if replicas == 3 else 1
        if replicas == 1:
            lines.append(f"controller.quorum.bootstrap.servers={HOST}:{node.controller}")
        else:
            voters = ",".join(f"{one.number}@{HOST}:{one.controller}" for one in self.nodes)
            lines.append(f"controller.quorum.voters={voters}")
        lines += [
            f"node.id={node.number}",
            f"log.dirs={folder}/data",
            f"listeners=PLAINTEXT://{HOST}:{node.port},CONTROLLER://{HOST}:{node.controller}",
            f"advertised.listeners=PLAINTEXT://{HOST}:{node.port},CONTROLLER://{HOST}:{node.controller}",
            f"default.replication.factor={replicas}",
            f"min.insync.replicas={needed}",
            f"offsets.topic.replication.factor={replicas}",
            f"transaction.state.log.replication.factor={replicas}",
            f"transaction.state.log.min.isr={needed}",
            f"share.coordinator.state.topic.replication.factor={replicas}",
            f"share.coordinator.state.topic.min.isr={needed}",
        ]
        path = folder / "server.properties"
        path.write_text("\n".join(lines) + "\n")
        return path

    def _script(self, name: str, *arguments: str) -> str:
        done = subprocess.run(
            [self.programs / "bin" / name, *arguments],
            capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL, cwd=self.home.root,
        )  # fmt: skip
        if done.returncode != 0:
            raise StartFailed(f"{name} failed:\n{done.stderr[-2000:]}{done.stdout[-2000:]}")
        return done.stdout


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0
