"""How long after a right was taken away a page is still handed out: from the commit of the change to the first read that is denied.

A person reads a page without a pause, by the door of a question, while the right is taken away and given back; each way of taking it in
turn. A read that began after the commit and still got the page counts as late: there must be none. Run it from the repository:
`python ops/bench/commit_to_deny.py`. Exit 1 when any read was late.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from installation import CORPUS, book_of, ingest, installation


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=200, help="of each way (default 200)")
    parser.add_argument("--json", action="store_true", help="print one JSON value")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="docmemo-bench-pdf-") as folder, installation():
        [document] = ingest(book_of(2, Path(folder, "book.pdf")))
        value = _measured(document["document"], options.changes)
    if options.json:
        print(json.dumps(value, indent=1))
    else:
        for way, figures in value.items():
            print(f"{way:<20} p50 {figures['p50_ms']:7.1f} ms   p99 {figures['p99_ms']:7.1f} ms   late reads {figures['late']}")
    return 0 if all(figures["late"] == 0 for figures in value.values()) else 1


def _measured(document_id: str, changes: int) -> dict[str, Any]:
    from ingestion.models import Document
    from ingestion.services.corpora import access_replace
    from ingestion.services.people import group_ensure, membership_end, membership_start, person_create

    document = Document.objects.select_related("corpus__organisation").get(id=document_id)
    organisation, corpus = document.corpus.organisation, document.corpus
    reader = person_create(organisation=organisation, username="bench-reader", password="", actor="bench")
    staff = group_ensure(organisation=organisation, name="bench-staff")
    membership_start(group=staff, member=reader.principal, actor="bench")

    def lists(**where: Any) -> tuple[Callable[[], object], Callable[[], object]]:
        def replace(*allow: str) -> Callable[[], object]:
            return lambda: access_replace(actor="bench", corpus=corpus, allow=allow, **where)

        return replace("bench-nobody"), replace("bench-staff")

    group_ensure(organisation=organisation, name="bench-nobody")
    for _take, give in (lists(), lists(document=document), lists(document=document, page_number=1)):
        give()
    ways = {
        "membership ends": (
            lambda: membership_end(group=staff, member=reader.principal, actor="bench"),
            lambda: membership_start(group=staff, member=reader.principal, actor="bench"),
        ),
        "list of the corpus": lists(),
        "list of the document": lists(document=document),
        "list of the page": lists(document=document, page_number=1),
    }
    reading = Reading(reader, document)
    try:
        return {way: _figures([reading.denied_after(take, give) for _ in range(changes)]) for way, (take, give) in ways.items()}
    finally:
        reading.stop()


class Reading:
    """Somebody who reads one page again and again, in a thread with a connection of its own."""

    def __init__(self, reader: Any, document: Any) -> None:
        self.reader, self.document = reader, document
        self.reads: list[tuple[float, float, bool]] = []  # began, ended, whether the page was handed out
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        from django.db import connections

        from ingestion.models import Page
        from ingestion.seams import load
        from qa.services.door import RunDoor

        page = Page.objects.get(build_id=self.document.live_build_id, number=1).id
        door = RunDoor(self.reader, CORPUS, None, load("page_embedder"))
        while not self.stopping.is_set():
            began = time.monotonic()
            if not door.scope().visible_pages:
                door = RunDoor(self.reader, CORPUS, None, load("page_embedder"))  # a run pins what it first sees
            seen = bool(door.pages([page]))
            self.reads.append((began, time.monotonic(), seen))
        connections.close_all()

    def _until(self, seen: bool, since: float) -> None:
        """Wait for a read that began after `since` and ended so."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if any(began >= since and found is seen for began, _ended, found in self.reads[-50:]):
                return
            time.sleep(0.0005)
        raise SystemExit(f"the page was never {'handed out' if seen else 'denied'}")

    def denied_after(self, take: Callable[[], object], give: Callable[[], object]) -> tuple[float, int]:
        """Seconds from the commit to the end of the first denied read, and how many reads that began after it got the page."""
        self._until(True, time.monotonic())
        mark = len(self.reads)
        take()
        committed = time.monotonic()
        self._until(False, committed)
        denied = next(ended for _began, ended, seen in self.reads[mark:] if not seen)
        late = sum(began >= committed and seen for began, _ended, seen in self.reads[mark:])
        give()
        return max(0.0, denied - committed), late

    def stop(self) -> None:
        self.stopping.set()
        self.thread.join(timeout=10)


def _figures(found: list[tuple[float, int]]) -> dict[str, float]:
    seconds = [one for one, _ in found]
    cuts = statistics.quantiles(seconds, n=100)
    return {
        "changes": len(found), "p50_ms": round(1000 * cuts[49], 2), "p99_ms": round(1000 * cuts[98], 2),
        "late": sum(late for _, late in found),
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
