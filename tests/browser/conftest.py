"""A real Chromium before the real site, on a pipeline of the product's own stages; queued work is done when a test says so."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.cache import cache
from django.core.handlers.wsgi import WSGIHandler
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from playwright.sync_api import Browser, Page, sync_playwright

from ingestion.seams import load
from ingestion.services.pipeline import pipeline_fingerprint
from tests.ingestion.fakes import Workbench
from tests.people import PASSWORD, make_cast

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_arguments: object) -> None:
        """Requests are told to nobody."""


@pytest.fixture(scope="module")
def chromium(django_db_setup: None) -> Iterator[Browser]:
    """The browser, for one module: its driver keeps an event loop in this thread, which Django would take for asynchronous code."""
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed: apt-get install --no-install-recommends chromium")
    with pytest.MonkeyPatch.context() as environment, sync_playwright() as playwright:
        environment.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def bench(chromium: Browser, committed_db: None, settings: LazySettings, tmp_path: Path) -> Iterator[Workbench]:
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


@dataclass
class Visitor:
    """A person before a browser window of his own."""

    page: Page
    site: str
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        self.page.goto(f"{self.site}{path}")

    def sign_in(self, username: str) -> None:
        self.open("/signin/")
        self.page.get_by_label("Name").fill(username)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(f"{self.site}/")


@pytest.fixture
def visitor(chromium: Browser, site: str) -> Iterator[Visitor]:
    """A fresh window; at the end the browser must not have complained, and must not have asked anybody else for anything."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB")
    page = context.new_page()
    page.set_default_timeout(20_000)
    person = Visitor(page, site)
    page.on("console", lambda m: person.complaints.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: person.complaints.append(str(error)))
    page.on("request", lambda r: None if r.url.startswith((site, "data:")) else person.complaints.append(f"asked {r.url}"))
    yield person
    context.close()
    assert person.complaints == []
