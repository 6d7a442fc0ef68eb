"""What the pipeline costs over a bare loop of the same library calls: one ratio, measured in one run.

The same PDF goes twice over the same number of processes, OCR off in both:

- `pipeline`: a whole installation (event, outbox, broker, inbox, job, Celery stages, PostgreSQL), from the moment the document is handed
  in until it is published; and how its stages share the time that workers spent.
- `bare`: a pool of processes over windows of the same pages: draw, read (text, tables, figures), cut and embed, in the pool's own
  processes, with nothing stored but the pictures. Models are loaded before the clock starts, as they are in workers.

The two run in turns, `--repeat` times each, and the medians are compared. Run it from the repository:
`python ops/bench/pipeline_overhead.py`. Exit 1 when the ratio is above `--at-most`.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from installation import ROOT, book_of, ingest, installation

sys.path.insert(0, str(ROOT))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--repeat", type=int, default=3, help="how often each is measured (default 3)")
    parser.add_argument("--at-most", type=float, default=1.25, help="the ratio above which the exit status is 1 (default 1.25)")
    parser.add_argument("--json", action="store_true", help="print one JSON value")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="docmemo-bench-pdf-") as folder, installation():
        value = _measured(Path(folder), options)
    if options.json:
        print(json.dumps(value, indent=1))
    else:
        _print_table(value)
    return 0 if value["ratio"] <= options.at_most else 1


def _measured(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    from django.conf import settings

    from docmemo_site.settings.work import workers

    window, long_side = settings.PIPELINE["PAGE_WINDOW"], settings.PIPELINE["RENDER_LONG_SIDE"]
    processes = sum(worker.processes for worker in workers() if {"cpu", "embed"} & set(worker.queues))
    ingest(book_of(2 * window, folder / "warm.pdf", first_seed=1000))  # every worker has loaded what it needs
    pipeline, bare, shares = [], [], {}
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=_load) as pool:
        list(pool.map(_idle, range(4 * processes)))
        for turn in range(options.repeat):
            book = book_of(options.pages, folder / f"book-{turn}.pdf", first_seed=1 + 20 * turn)
            seconds, shares = _pipeline(book)
            pipeline.append(seconds)
            bare.append(_bare(pool, book, options.pages, window, long_side))
            print(f"turn {turn + 1}: pipeline {pipeline[-1]:.1f} s, bare {bare[-1]:.1f} s", file=sys.stderr)
    ratio = statistics.median(pipeline) / statistics.median(bare)
    return {
        "pages": options.pages, "processes": processes, "ratio": round(ratio, 3), "pipeline_seconds": pipeline, "bare_seconds": bare,
        "ratios": [round(p / b, 3) for p, b in zip(pipeline, bare, strict=True)], "stage_shares": shares,
    }  # fmt: skip


def _pipeline(book: Path) -> tuple[float, dict[str, float]]:
    """Seconds from handing the document in until it is published, and each stage's share of the workers' time."""
    from ingestion.domain.events import DOCUMENTS_TOPIC
    from ingestion.models import Job, OutboxEvent

    [document] = ingest(book)
    if document["state"] != "published":
        raise SystemExit(f"the document was not published: {document['reason']}")
    job = Job.objects.get(document_id=document["document"])
    sent = OutboxEvent.objects.filter(topic=DOCUMENTS_TOPIC).latest("created_at")
    spent: dict[str, float] = {}
    for run in job.stage_runs.all():
        spent[run.stage] = spent.get(run.stage, 0.0) + (run.finished_at - run.started_at).total_seconds()
    shares = {stage: round(seconds / sum(spent.values()), 3) for stage, seconds in spent.items()}
    return (job.finished_at - sent.created_at).total_seconds(), shares


def _bare(pool: ProcessPoolExecutor, book: Path, pages: int, window: int, long_side: int) -> float:
    windows = [list(range(first, min(first + window, pages + 1))) for first in range(1, pages + 1, window)]
    started = time.monotonic()
    read = sum(pool.map(_window, [str(book)] * len(windows), windows, [long_side] * len(windows)))
    seconds = time.monotonic() - started
    if read != pages:
        raise SystemExit(f"the bare loop read {read} of {pages} pages")
    return seconds


@functools.cache
def _embedder() -> Any:
    from ingestion.seams.page_embedder.onnx_text import OnnxTextEmbedder

    return OnnxTextEmbedder()


def _load() -> None:
    """In each process of the pool: the model, and the parser's calls in this very process instead of one of their own."""
    from ingestion.seams.renderer import pdfium
    from ingestion.seams.sandbox import ONE_THREAD, Ended

    def run(function: str, argument: dict[str, Any], _bounds: Any) -> tuple[list[Any], Ended]:
        module, _, name = function.partition(":")
        return list(getattr(importlib.import_module(module), name)(**argument)), Ended(None)

    os.environ |= dict.fromkeys(ONE_THREAD, "1")
    pdfium.run = run
    _embedder().embed_query("warm")


def _idle(_number: int) -> None:
    time.sleep(0.2)


def _window(book: str, numbers: list[int], long_side: int) -> int:
    from ingestion.domain.passages import passages_of
    from ingestion.seams.page_embedder import PageInput
    from ingestion.seams.parser.pdfium_text import PdfiumTextParser
    from ingestion.seams.renderer import Limits
    from ingestion.seams.renderer.pdfium import PdfiumRenderer

    limits = Limits(memory_bytes=2 * 1024**3, seconds=600.0, max_pages=len(numbers))
    with tempfile.TemporaryDirectory(prefix="docmemo-bench-window-") as folder:
        drawn = PdfiumRenderer().render(Path(book), numbers, Path(folder), long_side, limits)
        pictures = {page.number: Path(page.path) for page in drawn if page.path}
        pages = PdfiumTextParser(ocr=None).read(Path(book), numbers, pictures, limits)
    inputs = []
    for page in pages:
        ranges = passages_of(page.text, page.blocks, _embedder().passage_words)
        inputs.append(PageInput(page.number, tuple(page.text[start:end] for start, end in ranges)))
    return len(_embedder().embed_pages(inputs))


def _print_table(value: dict[str, Any]) -> None:
    print(f"{value['pages']} pages on {value['processes']} processes: the pipeline takes {value['ratio']:.2f} times the bare loop")
    for name in ("pipeline", "bare"):
        print(f"{name:<10}" + "".join(f"{seconds:9.1f} s" for seconds in value[f"{name}_seconds"]))
    print("shares of the workers' time: " + ", ".join(f"{stage} {share:.1%}" for stage, share in value["stage_shares"].items()))


if __name__ == "__main__":
    sys.exit(main())
