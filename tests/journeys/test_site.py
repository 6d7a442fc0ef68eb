"""The site as it is served: real workers behind it, a real browser before it."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.browser.papers import pump_manual
from tests.browser.visitor import Visitor, chromium_running, visiting
from tests.journeys.installation import ROOT, Installation

FACT = "The guarantee of the pump X-200 lasts 36 months."
QUESTION = "How long does the guarantee of the pump X-200 last?"
WORK = 120_000  # milliseconds that workers may take before a page that waits for them is given up


@pytest.fixture(scope="module")
def site(quickstarted: Installation) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "docmemo_site.wsgi:application", "--bind", f"127.0.0.1:{port}", "--threads", "4"]
    server = subprocess.Popen(
        command, cwd=ROOT, env=quickstarted.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    for _ in range(120):
        try:
            httpx.get(f"{address}/signin/", timeout=10)
            break
        except httpx.TransportError:
            time.sleep(0.5)
    yield address
    server.terminate()
    server.wait(30)


@pytest.fixture(scope="module")
def passwords(quickstarted: Installation) -> dict[str, str]:
    return json.loads((quickstarted.home / "demo-passwords.json").read_text())


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with chromium_running() as browser:
        yield browser


@pytest.fixture
def visitor(chromium: Browser, site: str) -> Iterator[Visitor]:
    with visiting(chromium, site) as person:
        yield person


def test_an_upload_is_watched_until_it_answers(visitor: Visitor, passwords: dict[str, str]) -> None:
    page = visitor.page
    visitor.sign_in("admin", passwords["admin"])
    page.get_by_role("link", name="Console").click()
    page.locator("main").get_by_role("link", name=re.compile("^demo$", re.IGNORECASE)).click()
    upload = {"name": "manual.pdf", "mimeType": "application/pdf", "buffer": pump_manual(FACT)}
    page.get_by_label("PDF file").set_input_files(upload)
    page.get_by_label("Title", exact=True).fill("Manual of the pump X-200")
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(page.get_by_text("The document is live as version 1, with 3 pages.")).to_be_visible(timeout=WORK)
    page.get_by_role("button", name="Sign out").click()

    visitor.sign_in("alice", passwords["alice"])
    page.get_by_role("textbox", name="Question").fill(QUESTION)
    page.get_by_role("button", name="Ask").click()
    expect(page.locator(".outcome")).to_have_attribute("data-verdict", "answered", timeout=WORK)
    expect(page.locator(".claim").first).to_have_text(FACT)
    page.locator("a.cite").first.click()
    expect(page.locator("blockquote")).to_have_text(FACT)
    expect(page.locator(".sheet img")).to_have_js_property("complete", True)
    assert page.locator("rect.box").count() == 1
    page.get_by_role("button", name="Sign out").click()

    visitor.sign_in("auditor", passwords["auditor"])
    page.get_by_role("link", name="Audit").click()
    page.get_by_role("link", name=QUESTION).first.click()
    expect(page.locator("[data-chain=whole]")).to_be_visible()
    assert FACT not in page.content()


def test_the_employee_without_access_is_told_nothing(site: str, passwords: dict[str, str], quickstarted: Installation) -> None:
    """Every sample question, asked where the documents are and where there are none, ends in the same page."""
    sample = json.loads((quickstarted.home / "sample" / "1" / "questions.json").read_text(encoding="utf-8"))
    texts = [question["question"] for question in sample["questions"]]
    with httpx.Client(base_url=site, follow_redirects=True, timeout=60, headers={"Referer": site}) as bob:
        _post(bob, "/signin/", username="bob", password=passwords["bob"])
        assert "There is nothing to ask yet" in bob.get("/").text
        forbidden = [_outcome(bob, text, "demo") for text in texts]
        absent = [_outcome(bob, text, "no-such-corpus") for text in texts]
    assert forbidden == absent
    assert all('data-verdict="no_readable_documents"' in page for page in forbidden)
    titles = [document["title"] for document in sample["documents"]]
    assert not [title for title in titles for page in forbidden if title in page]


def test_a_deleted_document_stays_gone_for_a_warm_process_and_after_a_restart(
    site: str, passwords: dict[str, str], quickstarted: Installation, tmp_path: Path
) -> None:
    (tmp_path / "pump.pdf").write_bytes(pump_manual(FACT))
    assert quickstarted.run("ingest", str(tmp_path), "--corpus", "fleeting", "--allow", "staff").code == 0
    with httpx.Client(base_url=site, follow_redirects=True, timeout=60, headers={"Referer": site}) as alice:
        _post(alice, "/signin/", username="alice", password=passwords["alice"])
        assert 'data-verdict="answered"' in _outcome(alice, QUESTION, "fleeting")
        assert quickstarted.run("delete", "pump.pdf", "--corpus", "fleeting").code == 0
        assert 'data-verdict="no_readable_documents"' in _outcome(alice, QUESTION, "fleeting")
    assert quickstarted.run("down").code == 0
    assert quickstarted.run("up").code == 0
    asked = quickstarted.run("ask", QUESTION, "--as", "alice", "--corpus", "fleeting", "--json").value
    assert asked["verdict"] == "no_readable_documents"


def _post(client: httpx.Client, path: str, **fields: str) -> httpx.Response:
    if "csrftoken" not in client.cookies:
        client.get(path)
    return client.post(path, data={**fields, "csrfmiddlewaretoken": client.cookies["csrftoken"]})


def _outcome(client: httpx.Client, question: str, corpus: str) -> str:
    """The page of the ended run, without what names the run, its time and this page view."""
    shown = _post(client, "/", question=question, corpus=corpus)
    assert shown.status_code == 200 and "/runs/" in str(shown.url), shown.text[:2000]
    for _ in range(240):
        if "data-verdict" in shown.text:
            break
        time.sleep(0.25)
        shown = client.get(str(shown.url))
    run = str(shown.url).rstrip("/").rsplit("/", 1)[-1]
    text = shown.text.replace(run, "RUN").replace(corpus, "CORPUS")
    return re.sub(r'(csrfmiddlewaretoken" value=|X-CSRFToken[^,}]*|datetime=|nonce[^ ]*)"[^"]*"|\d\d:\d\d(:\d\d)?', "", text)
