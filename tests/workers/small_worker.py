"""A real Celery worker of the product over the seams of the tests: run as a process by the tests.

With a second argument that names a folder, a file `poison` in it kills the process that works, as a lack of memory would.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

os.environ["DJANGO_SETTINGS_MODULE"] = "docmemo_site.settings.test"

import django

django.setup()

from django.conf import settings  # noqa: E402

from ingestion.services import pipeline  # noqa: E402
from tests.ingestion.fakes import FAKE_SEAMS  # noqa: E402
from workers.app import app  # noqa: E402

queues, folder = sys.argv[1], Path(sys.argv[2])
fakes = {name: seam for name, seam in FAKE_SEAMS.items() if name != "task_queue"}
blobs = {"BACKEND": "ingestion.seams.blobs.filesystem.FilesystemBlobs", "OPTIONS": {"root": folder / "blobs"}}
settings.SEAMS = {**settings.SEAMS, **fakes, "blobs": blobs}
settings.WORK = {**settings.WORK, "HEARTBEAT_SECONDS": 1}
original = pipeline._context


def deadly(run: object) -> object:
    if (folder / "poison").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return original(run)


pipeline._context = deadly
app.conf.broker_url = sys.argv[3]
app.worker_main(
    ["worker", "-Q", queues, "-c", "1", "-n", f"{queues.replace(',', '-')}@test", "--without-gossip", "--without-mingle"]
)
