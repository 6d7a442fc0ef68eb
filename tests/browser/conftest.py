"""A real Chromium before the real site, on a pipeline of the product's own stages; queued work is done when a test says so."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.cache import cache
from django.core.handlers.wsgi import WSGIHandler
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from playwright.sync_api import Browser

from ingestion.seams import load
from ingestion.services.pipeline import pipeline_fingerprint
from tests.browser.visitor import Visitor, chromium_running, visiting
from tests.ingestion.fakes import Workbench
from tests.people import make_cast


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_arguments: object) -> None:
        """Requests are told to nobody."""


@pytest.fixture(scope="module")
def chromium(django_db_setup: None) -> Iterator[Browser]:
    """The browser, for one module: its driver keeps an event loop in this thread, which Django would take for asynchronous code."""
    with pytest.MonkeyPatch.context() as environment, chromium_running() as browser:
        environment.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield browser


@pytest.fixture
def bench(chromium: Browser, celery_broker: str, committed_db: None, settings: LazySettings, tmp_path: Path) -> Iterator[Workbench]:
    """The product's renderer, parser, embedder and reader; only the task queue is a list that the test works off."""
    settings.SEAMS = {
        **settings.SEAMS,
        "task_queue": {"BACKEND": "ingestion.seams.task_queue.memory.MemoryQueue"},
        "blobs": {"BACKEND": "ingestion.seams.blobs.filesystem.FilesystemBlobs", "OPTIONS": {"root": tmp_path / "blobs"}},
    }
    settings.PIPELINE = {**settings.PIPELINE, "AUDIT_HEADS_DIR": tmp_path / "heads"}
    load.cache_clear()
    pipeline_fingerprint.cache_clear()
    cache.clear()
    yield Workbench(make_cast())
    load.cache_clear()
    pipeline_fingerprint.cache_clear()


@pytest.fixture
def site(bench: Workbench) -> Iterator[str]:
    """The address of the site, served by threads of this process."""
    server = ThreadedWSGIServer(("127.0.0.1", 0), _Quiet)
    server.daemon_threads = True
    server.set_app(WSGIHandler())
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def visitor(chromium: Browser, site: str) -> Iterator[Visitor]:
    """A person who comes to the site."""
    with visiting(chromium, site) as person:
        yield person
