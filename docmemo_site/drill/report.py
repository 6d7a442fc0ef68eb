"""The figures of a drill, and the sentences behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from docmemo_site.drill.faults import Fault

SHOWN = 40


@dataclass
class Findings:
    """What is wrong, a sentence each; empty lists are what a drill wants."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Report:
    """What was sent, what came of it, and what was broken meanwhile."""

    bus: str
    seed: int
    documents: int
    events: int
    effects: int
    findings: Findings
    poison: int
    dead_letters: int
    faults: Sequence[Fault]
    seconds: float
    without: str = ""
    poison_left: Sequence[str] = ()

    @property
    def good(self) -> bool:
        """Nothing lost, doubled, stuck or orphaned, every poison a dead letter, and all that was struck came back."""
        f = self.findings
        clean = not (f.lost or f.doubled or f.stuck or f.orphans)
        return clean and self.poison == self.dead_letters and all(fault.back for fault in self.faults)

    def as_json(self) -> dict[str, object]:
        """One JSON value: the figures, the faults and, below `details`, what the figures count."""
        f = self.findings
        return {
            "good": self.good,
            "bus": self.bus,
            "seed": self.seed,
            "documents": self.documents,
            "without": self.without or None,
            "events": self.events,
            "effects": self.effects,
            "lost": len(f.lost),
            "doubled": len(f.doubled),
            "stuck": len(f.stuck),
            "orphans": len(f.orphans),
            "poison": self.poison,
            "dead_letters": self.dead_letters,
            "seconds": round(self.seconds, 1),
            "faults": [asdict(fault) for fault in self.faults],
            "details": {
                "lost": f.lost[:SHOWN],
                "doubled": f.doubled[:SHOWN],
                "stuck": f.stuck[:SHOWN],
                "orphans": f.orphans[:SHOWN],
                "poison_left": list(self.poison_left)[:SHOWN],
            },
        }

    def as_text(self) -> str:
        """The same, for a person."""
        f = self.findings
        lines = [
            f"{self.documents} documents on {self.bus}, seed {self.seed}, {self.seconds:.0f} s"
            + (f", WITHOUT {self.without}" if self.without else ""),
            f"  events {self.events}, effects {self.effects}",
            f"  lost {len(f.lost)}, doubled {len(f.doubled)}, stuck {len(f.stuck)}, orphans {len(f.orphans)}",
            f"  poison {self.poison}, dead letters {self.dead_letters}",
            f"{len(self.faults)} faults:",
        ]
        for fault in self.faults:
            lines.append(f"  {fault.at}  {fault.kind:<15} {fault.interrupted}" + ("" if fault.back else "  DID NOT COME BACK"))
        for name, found in (("lost", f.lost), ("doubled", f.doubled), ("stuck", f.stuck), ("orphans", f.orphans)):
            lines += [f"{name}:"] * bool(found) + [f"  {one}" for one in found[:SHOWN]]
            if len(found) > SHOWN:
                lines.append(f"  and {len(found) - SHOWN} more")
        lines += [f"no dead letter for {name}" for name in self.poison_left]
        lines.append("Consistent." if self.good else "NOT consistent.")
        return "\n".join(lines)
