"""What an evaluation measured, as one JSON value and as a table that a person reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from qa.evaluation.datasets import GoldQuestion
from qa.evaluation.metrics import CUTOFFS, all_hit, grouped, mean, ranking_metrics, recall


@dataclass(frozen=True, slots=True)
class Measured:
    """One question, measured. `ranking` holds page numbers of the known document, `library` (document, page) of the whole set."""

    question: GoldQuestion
    ranking: tuple[int, ...]
    library: tuple[tuple[str, int], ...] = ()
    rounds: tuple[tuple[int, ...], ...] = ()  # pages read in each round; empty where the loop was not run
    verdict: str = ""
    reason: str = ""
    cited: tuple[int, ...] = ()
    seconds: float = 0.0


def report(measured: Sequence[Measured]) -> dict[str, Any]:
    """The whole report; parts that were not run are empty."""
    answerable = [m for m in measured if m.question.pages]
    value: dict[str, Any] = {
        "questions": len(measured),
        "answerable": len(answerable),
        "first_retrieval": _first(answerable),
        "first_retrieval_by_source": {k: _first(v) for k, v in grouped(answerable, lambda m: [m.question.source]).items()},
        "first_retrieval_by_evidence": {k: _first(v) for k, v in grouped(answerable, lambda m: m.question.evidence).items()},
        "first_retrieval_by_text_layer": {k: _first(v) for k, v in grouped(answerable, _layer).items()},
        "first_retrieval_undisputed": _first([m for m in answerable if not m.question.disputed]),
        "library": _library([m for m in answerable if m.library]),
        "rounds": _rounds([m for m in answerable if m.rounds]),
        "static_list": _static([m for m in answerable if m.rounds]),
        "verdicts": _verdicts([m for m in measured if m.verdict]),
    }
    timed = [m.seconds for m in measured if m.verdict]
    value["seconds_a_question"] = {"mean": mean(timed), "max": round(max(timed), 2) if timed else None}
    return value


def _layer(measured: Measured) -> list[str]:
    """Documents without a text layer and with a sparse one are one group: both rest on OCR."""
    return ["text layer full" if measured.question.text_layer == "full" else "no or sparse text layer"]


def _first(measured: Sequence[Measured]) -> dict[str, Any]:
    return ranking_metrics([(m.question.pages, m.ranking) for m in measured])


def _library(measured: Sequence[Measured]) -> dict[str, Any]:
    pairs = [(frozenset((m.question.document, page) for page in m.question.pages), m.library) for m in measured]
    right = [float(bool(m.library) and m.library[0][0] == m.question.document) for m in measured]
    return {**ranking_metrics(pairs), "right_document@1": mean(right)}


def _read(measured: Measured, number: int) -> set[int]:
    return {page for pages in measured.rounds[:number] for page in pages}


def _rounds(measured: Sequence[Measured]) -> list[dict[str, Any]]:
    """Cumulative over rounds; a question that stopped early keeps what it had. `went_on` counts those that had this round."""
    most = max((len(m.rounds) for m in measured), default=0)
    return [
        {
            "round": number,
            "recall": mean([recall(m.question.pages, _read(m, number)) for m in measured]),
            "all_hit": mean([all_hit(m.question.pages, _read(m, number)) for m in measured]),
            "pages": mean([len(_read(m, number)) for m in measured]),
            "went_on": sum(len(m.rounds) >= number for m in measured),
        }
        for number in range(1, most + 1)
    ]


def _static(measured: Sequence[Measured]) -> dict[str, Any]:
    """For each question the first retrieval's list, cut to as many pages as the loop read: what the loop must at least match."""
    lists = [(m.question.pages, m.ranking[: len(_read(m, len(m.rounds)))]) for m in measured]
    return {
        "n": len(lists),
        "recall": mean([recall(gold, pages) for gold, pages in lists]),
        "all_hit": mean([all_hit(gold, pages) for gold, pages in lists]),
    }


def _verdicts(measured: Sequence[Measured]) -> dict[str, Any]:
    answerable = [m for m in measured if not m.question.unanswerable]
    unanswerable = [m for m in measured if m.question.unanswerable]
    released = [m for m in measured if m.verdict == "answered"]
    on_gold = [m for m in released if set(m.cited) & m.question.pages]
    strangers = [m for m in released if not m.question.unanswerable and not set(m.cited) & m.question.pages]
    return {
        "answerable": dict(Counter(m.verdict for m in answerable)),
        "unanswerable": dict(Counter(m.verdict for m in unanswerable)),
        "reasons": dict(Counter(m.reason for m in measured if m.verdict != "answered")),
        "released": len(released),
        "coverage": mean([float(m.verdict == "answered") for m in answerable]),
        "released_on_unanswerable": sum(m.question.unanswerable for m in released),
        "released_on_unanswerable_share": mean([float(m.question.unanswerable) for m in released]),
        "released_with_a_quote_on_gold": len(on_gold),
        "released_with_no_quote_on_gold_share": mean([float(m in strangers) for m in released if not m.question.unanswerable]),
    }


def table(value: dict[str, Any]) -> str:
    """The report for a person."""
    names = [f"recall@{k}" for k in CUTOFFS] + ["all_hit@5", "all_hit@10"]
    lines = [f"{'first retrieval':<40} {'n':>4} " + " ".join(f"{name:>10}" for name in names)]

    def row(title: str, metrics: dict[str, Any]) -> None:
        cells = " ".join("         -" if metrics.get(name) is None else f"{metrics[name]:>10.3f}" for name in names)
        lines.append(f"{title[:40]:<40} {metrics.get('n', 0):>4} {cells}")

    row("all, the document known", value["first_retrieval"])
    row("  pages not disputed", value["first_retrieval_undisputed"])
    groups = ("first_retrieval_by_text_layer", "first_retrieval_by_source", "first_retrieval_by_evidence")
    for title, metrics in {title: metrics for group in groups for title, metrics in value[group].items()}.items():
        row(f"  {title}", metrics)
    if value["library"].get("n"):
        row("all documents as one library", value["library"])
    for entry in value["rounds"]:
        lines.append(
            f"round {entry['round']}: recall {entry['recall']:.3f}, all-hit {entry['all_hit']:.3f}, "
            f"{entry['pages']:.1f} pages read, {entry['went_on']} questions had it"
        )
    if value["static_list"].get("n"):
        static = value["static_list"]
        lines.append(f"a static list of as many pages: recall {static['recall']:.3f}, all-hit {static['all_hit']:.3f}")
    for title in ("answerable", "unanswerable", "reasons"):
        counts = value["verdicts"].get(title) or {}
        if counts:
            lines.append(f"{title}: " + ", ".join(f"{name or 'none'} {count}" for name, count in sorted(counts.items())))
    if value["verdicts"].get("released"):
        v = value["verdicts"]
        lines.append(
            f"released {v['released']} (coverage {v['coverage']:.3f} of the answerable); on unanswerable questions "
            f"{v['released_on_unanswerable_share']:.3f} of the released; without a quote on a gold page "
            f"{v['released_with_no_quote_on_gold_share']:.3f}"
        )
    return "\n".join(lines)
