"""Workers by group of queues: what each is started with. Read by the settings, the supervisor and the commands alike."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from django.core.exceptions import ImproperlyConfigured

from docmemo_site.settings import env

QUEUES = ("cpu", "parse", "embed", "describe", "publish", "answer")
# Work of these may need a GPU: with DOCMEMO_DEVICES their workers have one process a device.
DEVICE_QUEUES = frozenset({"parse", "embed", "describe"})
# These must never wait behind long work, so they share no worker with other queues.
SHORT_QUEUES = frozenset({"publish", "answer"})
# After its deadline a stage run has so long to stop by itself before its process is killed.
STOP_SECONDS = 60


@dataclass(frozen=True)
class Worker:
    """One Celery worker: its name, the queues it listens to, and what its processes may use.

    `memory_mb` None means that no process is replaced for its size, so that a model is loaded once.
    """

    name: str
    queues: tuple[str, ...]
    processes: int
    prefetch: int
    memory_mb: int | None
    device: str = ""

    def argv(self, python: str = sys.executable) -> tuple[str, ...]:
        """The command that starts it."""
        memory = () if self.memory_mb is None else ("--max-memory-per-child", str(self.memory_mb * 1024))
        return (
            *(python, "-m", "celery", "-A", "workers.app", "worker", "-Q", ",".join(self.queues)),
            *("-c", str(self.processes), "--prefetch-multiplier", str(self.prefetch), *memory),
            *("-n", f"{self.name}@%h", "--loglevel", "INFO", "--without-gossip", "--without-mingle"),
        )

    def environment(self) -> tuple[tuple[str, str], ...]:
        """What it needs in its environment besides the common settings."""
        return (("CUDA_VISIBLE_DEVICES", self.device),) if self.device else ()


def groups() -> tuple[tuple[str, ...], ...]:
    """The queues by group. Raises ImproperlyConfigured where a queue is unknown, missing, named twice, or waits behind long work."""
    found = tuple(tuple(word.strip() for word in group.split("+")) for group in env.words("DOCMEMO_WORKER_GROUPS"))
    named = [queue for group in found for queue in group]
    if sorted(named) != sorted(QUEUES):
        raise ImproperlyConfigured(f"DOCMEMO_WORKER_GROUPS must name each of {', '.join(QUEUES)} once, not {', '.join(named)}.")
    for group in found:
        if SHORT_QUEUES & set(group) and not set(group) <= SHORT_QUEUES:
            raise ImproperlyConfigured(f"DOCMEMO_WORKER_GROUPS: publish and answer would wait behind long work in {'+'.join(group)}.")
    return found


def workers(devices: Sequence[str] | None = None) -> tuple[Worker, ...]:
    """Every worker that the settings ask for; `devices` in place of DOCMEMO_DEVICES."""
    found: list[Worker] = []
    for group in groups():
        name, ids = "-".join(group), list(env.words("DOCMEMO_DEVICES") if devices is None else devices)
        prefetch = _amounts("DOCMEMO_QUEUE_PREFETCH", group)
        if DEVICE_QUEUES & set(group) and ids:
            found += [Worker(f"{name}-{number}", group, 1, min(prefetch), None, device) for number, device in enumerate(ids)]
            continue
        processes, memory = _amounts("DOCMEMO_QUEUE_PROCESSES", group), _amounts("DOCMEMO_QUEUE_MEMORY_MB", group)
        found.append(Worker(name, group, max(processes), min(prefetch), max(memory)))
    return tuple(found)


def _amounts(name: str, group: tuple[str, ...]) -> list[int]:
    held = env.amounts(name)
    return [held[queue] for queue in group]
