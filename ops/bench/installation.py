"""An installation of its own for a benchmark, thrown away afterwards: services, workers, and documents made for the measurement."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "ops" / "sample" / "generate.py"
CORPUS = "bench"
# Text, tables and figures, and no page that would need OCR.
BOOKS = ("operating-manual.pdf", "employee-handbook.pdf")


@contextmanager
def installation(**environment: str) -> Iterator[Path]:
    """The home of a fresh installation whose services and workers run; Django is set up on it."""
    with tempfile.TemporaryDirectory(prefix="docmemo-bench-") as home:
        os.environ |= {"DOCMEMO_HOME": home, "DJANGO_SETTINGS_MODULE": "docmemo_site.settings.base", **environment}
        try:
            manage("up")
            sys.path.insert(0, str(ROOT))
            import django

            django.setup()
            yield Path(home)
        finally:
            manage("down")


def manage(*arguments: str, check: bool = True) -> str:
    """Run a command of the installation; what it printed. Its progress goes where ours goes."""
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=check).stdout


def ingest(*paths: Path) -> list[dict[str, Any]]:
    """Take the files in and wait; what became of each."""
    return json.loads(manage("ingest", *map(str, paths), "--corpus", CORPUS, "--json", check=False))["documents"]


def book_of(pages: int, target: Path, first_seed: int = 1) -> Path:
    """A PDF of so many pages: sample books, one company after another, never the same page twice."""
    import pypdfium2 as pdfium

    book, seed = pdfium.PdfDocument.new(), first_seed
    with tempfile.TemporaryDirectory(prefix="docmemo-bench-books-") as folder:
        while len(book) < pages:
            made = Path(folder, str(seed))
            subprocess.run([sys.executable, str(SAMPLE), "--seed", str(seed), "--output", str(made)], check=True, stdout=subprocess.DEVNULL)
            for name in BOOKS:
                wanted = pages - len(book)
                if wanted > 0:  # no page named would be all of them
                    with pdfium.PdfDocument(made / name) as part:
                        book.import_pages(part, list(range(min(wanted, len(part)))))
            seed += 1
        book.save(str(target))
    return target
