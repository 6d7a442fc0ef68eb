"""What a child may use, and what it is told. Imported by both sides, so it imports nothing of the product."""

from __future__ import annotations

from dataclasses import dataclass

REQUEST = "request.json"
ITEMS = "items.jsonl"
STDERR = "stderr"
OUT_OF_MEMORY = 77  # exit codes by which the child says what happened to it
TOO_MUCH_OUTPUT = 78


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of one child. `item_seconds` bounds the wait for the next yielded value, `seconds` the whole run.

    `output_bytes` bounds each file that the child writes, the yielded values as JSON among them.
    """

    memory_bytes: int
    seconds: float
    item_seconds: float = float("inf")
    output_bytes: int = 64 * 1024 * 1024
