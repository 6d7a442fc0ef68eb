"""A person before a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.people import PASSWORD

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


@contextmanager
def chromium_running() -> Iterator[Browser]:
    """The browser; skips where it is not installed."""
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed: apt-get install --no-install-recommends chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield browser
        browser.close()


@dataclass
class Visitor:
    """A person before a browser window of his own."""

    page: Page
    site: str
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        self.page.goto(f"{self.site}{path}")

    def sign_in(self, username: str, password: str = PASSWORD) -> None:
        self.open("/signin/")
        self.page.get_by_label("Name").fill(username)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(f"{self.site}/")


@contextmanager
def visiting(browser: Browser, site: str) -> Iterator[Visitor]:
    """A fresh window; at the end the browser must not have complained, and must not have asked anybody else for anything."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB")
    page = context.new_page()
    page.set_default_timeout(20_000)
    person = Visitor(page, site)
    page.on("console", lambda m: person.complaints.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: person.complaints.append(str(error)))
    page.on("request", lambda r: None if r.url.startswith((site, "data:")) else person.complaints.append(f"asked {r.url}"))
    yield person
    context.close()
    assert person.complaints == []
