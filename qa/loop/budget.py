"""What a run may use. The loop has no clock: who calls it says how many seconds have passed."""

from __future__ import annotations

from dataclasses import dataclass

from qa.memory.trail import Cost


@dataclass(frozen=True, slots=True)
class Budget:
    """Bounds of one run. They are looked at before a round, so one round may go over; the round's own calls are bounded by their seams."""

    pages: int = 40
    calls: int = 20
    tokens: int = 400_000
    seconds: float = 600.0

    def spent(self, cost: Cost, seconds: float) -> str:
        """The name of the first bound that is reached: pages, calls, tokens or seconds; empty while there is something left."""
        used = {
            "pages": (cost.pages, self.pages),
            "calls": (cost.calls, self.calls),
            "tokens": (cost.input_tokens + cost.output_tokens, self.tokens),
            "seconds": (seconds, self.seconds),
        }
        return next((name for name, (have, bound) in used.items() if have >= bound), "")
