"""What memory an ingest takes: the summed memory of the ingest workers while one large PDF goes through, and its slope by page number.

Every half second the proportional set sizes (PSS) of all application processes and of the parsing processes they start are summed;
PostgreSQL and the brokers are left out. The slope is a least-squares line through the samples over the pages that were read by then.
With `--folder DIR` the folder's files are taken in after that, `--times` times under new external ids, and outcomes, left processes and
left temporary files are compared. Run it from the repository: `python ops/bench/ingest_memory.py`. Exit 1 when a floor is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent))

from installation import book_of, ingest, installation

MEBI = 1024 * 1024
SERVICES = ("postgres", "valkey", "redis", "tansu")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=4000)
    parser.add_argument("--at-most-mib", type=int, default=2048, help="the summed memory above which the exit status is 1 (default 2048)")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="files to take in again and again after that")
    parser.add_argument("--times", type=int, default=10, help="how often (default 10)")
    parser.add_argument("--json", action="store_true", help="print one JSON value")
    options = parser.parse_args()
    value: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="docmemo-bench-pdf-") as folder, installation() as home:
        if options.pages:
            value["large"] = _large(home, book_of(options.pages, Path(folder, "large.pdf")))
        if options.folder:
            value["folder"] = _folder(home, options.folder, options.times, Path(folder))
    if options.json:
        print(json.dumps(value, indent=1))
    else:
        _print_table(value)
    return 0 if _holds(value, options) else 1


class Sampler(threading.Thread):
    """Sums the memory of a home's application processes until told to stop; a row is (seconds, pages read, PSS in MiB)."""

    def __init__(self, home: Path) -> None:
        super().__init__(daemon=True)
        self.home, self.rows, self.stopping = home, [], threading.Event()

    def run(self) -> None:
        started = time.monotonic()
        while not self.stopping.wait(0.5):
            self.rows.append((time.monotonic() - started, _pages_read(), sum(map(_pss, ours(self.home))) / MEBI))

    def stop(self) -> np.ndarray:
        self.stopping.set()
        self.join()
        return np.array(self.rows)


def ours(home: Path) -> list[psutil.Process]:
    """The application processes of this home with what they started."""
    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        try:
            if process.environ().get("DOCMEMO_SUPERVISED") == str(home):
                found |= {one.pid: one for one in (process, *process.children(recursive=True))}
        except psutil.Error:
            continue
    return [process for process in found.values() if not _is_service(process)]


def _is_service(process: psutil.Process) -> bool:
    try:
        return any(name in process.name() for name in SERVICES)
    except psutil.Error:
        return True


def _pss(process: psutil.Process) -> int:
    try:
        return process.memory_full_info().pss
    except psutil.Error:
        return 0


def _pages_read() -> int:
    from django.db.models import F, Sum

    from ingestion.models import StageRun

    done = StageRun.objects.filter(stage="read", state="done").aggregate(pages=Sum(F("last_page") - F("first_page") + 1))
    return done["pages"] or 0


def _large(home: Path, book: Path) -> dict[str, Any]:
    idle = sum(map(_pss, ours(home))) / MEBI
    sampler = Sampler(home)
    sampler.start()
    started = time.monotonic()
    [document] = ingest(book)
    seconds = time.monotonic() - started
    rows = sampler.stop()
    reading = rows[(rows[:, 1] > 0) & (rows[:, 1] < rows[:, 1].max())]
    slope = float(np.polyfit(reading[:, 1], reading[:, 2], 1)[0]) * 1000 if len(reading) > 2 else float("nan")
    return {
        "pages": document["pages"], "state": document["state"], "reason": document["reason"], "seconds": round(seconds, 1),
        "samples": len(rows), "idle_mib": round(idle),
        "median_mib": round(float(np.median(rows[:, 2]))), "peak_mib": round(float(rows[:, 2].max())),
        "slope_mib_per_1000_pages": round(slope, 2),
    }  # fmt: skip


def _folder(home: Path, source: Path, times: int, scratch: Path) -> dict[str, Any]:
    """The same files under new external ids, `times` times: each time's outcomes, and what is left of processes and files."""
    outcomes: list[dict[str, str]] = []
    left: list[tuple[int, int]] = []
    files = sorted(path for path in source.rglob("*.pdf"))
    for turn in range(times):
        copies = scratch / f"turn-{turn}"
        copies.mkdir()
        for number, path in enumerate(files):
            shutil.copyfile(path, copies / f"{turn}-{number}.pdf")
        found = ingest(*sorted(copies.iterdir()))
        number_of = {one["path"]: int(Path(one["path"]).stem.partition("-")[2]) for one in found}
        outcomes.append({files[number_of[one["path"]]].name: f"{one['state']} {one['reason'].partition(':')[0]}".strip() for one in found})
        shutil.rmtree(copies)
        time.sleep(2)
        left.append((len(ours(home)), _temporary_files()))
        print(f"turn {turn + 1}: {len(found)} files, {left[-1][0]} processes, {left[-1][1]} temporary files", file=sys.stderr)
    differing = sorted({name for turn in outcomes for name in turn if turn.get(name) != outcomes[0].get(name)})
    return {
        "files": len(files), "times": times, "outcomes": dict(Counter(outcomes[0].values()).most_common()), "differing": differing,
        "processes": [processes for processes, _ in left], "temporary_files": [count for _, count in left],
    }  # fmt: skip


def _temporary_files() -> int:
    """What stages and parsing processes put into the folder for temporary files and did not take away."""
    names = ("docmemo-sandbox-", "docmemo-render-", "docmemo-crop-")
    return sum(entry.startswith(names) for entry in os.listdir(tempfile.gettempdir()))


def _holds(value: dict[str, Any], options: argparse.Namespace) -> bool:
    large, folder = value.get("large"), value.get("folder")
    fits = large is None or (large["state"] == "published" and large["peak_mib"] <= options.at_most_mib)
    if folder is None:
        return fits
    leaks = max(folder["processes"]) > folder["processes"][0] or folder["temporary_files"][-1] > 0
    return fits and not leaks and not folder["differing"]


def _print_table(value: dict[str, Any]) -> None:
    for name, figures in value.items():
        print(name)
        for key, figure in figures.items():
            print(f"  {key:<26} {figure}")


if __name__ == "__main__":
    sys.exit(main())
