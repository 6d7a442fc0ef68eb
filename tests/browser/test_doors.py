"""The three doors in a real browser."""

from __future__ import annotations

import io
import re

from PIL import Image
from playwright.sync_api import expect

from ingestion.models import Document
from qa.models import Citation, Run
from qa.services.answering import run_execute
from tests.browser.papers import pump_manual
from tests.browser.visitor import Visitor
from tests.ingestion.fakes import Workbench

FACT = "The guarantee of the pump X-200 lasts 36 months."
QUESTION = "How long does the guarantee of the pump X-200 last?"


def _ask(visitor: Visitor, question: str = QUESTION) -> Run:
    """Ask in the portal, and let a worker answer while the page is open."""
    visitor.open("/")
    visitor.page.get_by_label("Question").fill(question)
    visitor.page.get_by_role("button", name="Ask").click()
    visitor.page.wait_for_url(re.compile(r"/runs/[0-9a-f-]{36}/$"))
    expect(visitor.page.get_by_text("Waiting for its turn")).to_be_visible()
    run = Run.objects.latest("created_at")
    run_execute(run.id)
    expect(visitor.page.locator(".outcome")).to_be_visible()
    return run


def test_ask_and_see_the_box_on_the_quoted_words(visitor: Visitor, bench: Workbench) -> None:
    bench.publish(pump_manual(FACT), external_id="manual.pdf", title="Manual of the pump X-200")
    visitor.sign_in("alice")
    _ask(visitor)
    expect(visitor.page.locator(".outcome")).to_have_attribute("data-verdict", "answered")
    expect(visitor.page.locator(".claim")).to_have_text(FACT)
    expect(visitor.page.locator(".rounds")).to_contain_text("Manual of the pump X-200, page 2 (printed 1)")
    visitor.page.locator("a.cite").first.click()
    expect(visitor.page.locator("blockquote")).to_have_text(FACT)
    expect(visitor.page.locator(".printed")).to_have_text("1")
    _assert_box_on_red_words(visitor)


def _assert_box_on_red_words(visitor: Visitor) -> None:
    """The quoted line alone is printed in red: its ink lies in the boxes as they are drawn, and the boxes hold little else."""
    page = visitor.page
    expect(page.locator(".sheet img")).to_have_js_property("complete", True)
    assert page.locator(".sheet img").evaluate("image => image.naturalWidth") > 1000
    frame = page.locator(".sheet").bounding_box()
    boxes = [box.bounding_box() for box in page.locator("rect.box").all()]
    picture = Image.open(io.BytesIO(page.locator(".sheet").screenshot())).convert("RGB")
    red, red_inside, marked, marked_outside = 0, 0, 0, 0
    for y in range(picture.height):
        for x in range(picture.width):
            r, g, b = picture.getpixel((x, y))
            inside = any(
                box["x"] - 1 <= frame["x"] + x <= box["x"] + box["width"] + 1
                and box["y"] - 1 <= frame["y"] + y <= box["y"] + box["height"] + 1
                for box in boxes
            )
            if r > 140 and g < 90 and b < 90:
                red, red_inside = red + 1, red_inside + inside
            elif r > 200 and g > 160 and b < 200:
                marked, marked_outside = marked + 1, marked_outside + (not inside)
    assert len(boxes) == 1 and boxes[0]["height"] < 40
    assert red > 150 and red_inside >= 0.99 * red
    assert marked > 1000 and marked_outside == 0


def test_an_abstention_says_why(visitor: Visitor, bench: Workbench) -> None:
    bench.publish(pump_manual(FACT), external_id="manual.pdf", title="Manual of the pump X-200")
    visitor.sign_in("alice")
    run = _ask(visitor, "What does the compressor ZK-77 weigh?")
    run.refresh_from_db()
    assert run.verdict in ("not_in_documents", "not_found_within_budget")
    expect(visitor.page.locator(".outcome")).to_have_attribute("data-verdict", run.verdict)
    assert visitor.page.locator(".claim").count() == 0


def test_the_employee_without_access_finds_an_empty_portal(visitor: Visitor, bench: Workbench) -> None:
    bench.publish(pump_manual(FACT), external_id="manual.pdf", title="Manual of the pump X-200")
    visitor.sign_in("bob")
    expect(visitor.page.get_by_text("There is nothing to ask yet")).to_be_visible()
    assert visitor.page.get_by_role("link", name="Console").count() == 0


def test_an_upload_becomes_answerable(visitor: Visitor, bench: Workbench) -> None:
    corpus = bench.corpus()
    visitor.sign_in("admin")
    visitor.page.get_by_role("link", name="Console").click()
    visitor.page.get_by_role("link", name=corpus.name).click()
    upload = {"name": "manual.pdf", "mimeType": "application/pdf", "buffer": pump_manual(FACT)}
    visitor.page.get_by_label("PDF file").set_input_files(upload)
    visitor.page.get_by_label("Title", exact=True).fill("Manual of the pump X-200")
    visitor.page.get_by_role("button", name="Upload", exact=True).click()
    expect(visitor.page.get_by_text("Sent. It waits to be received.")).to_be_visible()
    bench.deliver()
    bench.work(limit=2)
    expect(visitor.page.get_by_text("Working on the stage read")).to_be_visible()
    bench.work()
    expect(visitor.page.get_by_text("The document is live as version 1, with 3 pages.")).to_be_visible()
    visitor.page.get_by_role("link", name="The document, its versions and jobs").click()
    expect(visitor.page.get_by_text("Version 1 is live")).to_be_visible()
    assert visitor.page.get_by_text("restricted", exact=True).count() == 3  # managing is not reading
    visitor.page.get_by_role("button", name="Sign out").click()
    visitor.sign_in("alice")
    _ask(visitor)
    expect(visitor.page.locator(".claim")).to_have_text(FACT)


def test_a_failed_job_is_retried_by_keyboard(visitor: Visitor, bench: Workbench) -> None:
    bench.publish(b"%PDF-1.4 no more than a head", external_id="broken.pdf", title="Broken")
    document = Document.objects.get()
    visitor.sign_in("admin")
    visitor.open(f"/console/documents/{document.id}/")
    visitor.page.locator("section", has_text="Jobs").get_by_role("link").first.click()
    expect(visitor.page.get_by_text("It failed in the stage inspect")).to_be_visible()
    visitor.page.get_by_text("Retry", exact=True).focus()
    visitor.page.keyboard.press("Enter")
    visitor.page.keyboard.press("Tab")
    expect(visitor.page.get_by_label("Begin at")).to_be_focused()
    visitor.page.keyboard.press("Tab")
    expect(visitor.page.get_by_role("button", name="Yes, retry")).to_be_focused()
    visitor.page.keyboard.press("Enter")
    expect(visitor.page.get_by_text("goes on from the stage that failed")).to_be_visible()
    bench.work()
    expect(visitor.page.get_by_text("It failed in the stage inspect")).to_be_visible()


def test_a_question_about_cancelling_outlasts_the_polls(visitor: Visitor, bench: Workbench) -> None:
    bench.submit(pump_manual(FACT), external_id="manual.pdf")
    bench.deliver()
    visitor.sign_in("admin")
    visitor.open(f"/console/jobs/{bench.newest_job().id}/")
    visitor.page.get_by_text("Cancel", exact=True).click()
    bench.work(limit=2)
    expect(visitor.page.get_by_text("2 of 6 steps")).to_be_visible()
    visitor.page.get_by_role("button", name="Yes, cancel the job").click()
    expect(visitor.page.get_by_text("The job was cancelled.")).to_be_visible()


def test_the_trail_as_auditor(visitor: Visitor, bench: Workbench) -> None:
    bench.publish(pump_manual(FACT), external_id="manual.pdf", title="Manual of the pump X-200")
    visitor.sign_in("alice")
    run = _ask(visitor)
    visitor.page.get_by_role("button", name="Sign out").click()
    visitor.sign_in("audra")
    visitor.page.get_by_role("link", name="Audit").click()
    expect(visitor.page.locator("[data-chain=whole]")).to_be_visible()
    visitor.page.get_by_role("link", name=QUESTION).click()
    expect(visitor.page.locator(".seed")).to_have_text(str(Run.objects.get(id=run.id).seed))
    expect(visitor.page.locator(".tags")).to_have_text("staff, user:alice")
    expect(visitor.page.locator("table.candidates").first).to_contain_text("Manual of the pump X-200, page 2")
    expect(visitor.page.locator("[data-chain=whole]")).to_be_visible()
    expect(visitor.page.locator(".entries")).to_contain_text("question.answered")
    assert FACT not in visitor.page.content()
    citation = Citation.objects.get(claim__answer__run=run)
    visitor.open(f"/runs/{run.id}/citations/{citation.id}/")
    expect(visitor.page.get_by_text("There is nothing here")).to_be_visible()
    visitor.complaints.clear()  # the browser notes the 404


def test_a_lost_session_leads_to_the_door_and_back(visitor: Visitor, bench: Workbench) -> None:
    bench.publish(pump_manual(FACT), external_id="manual.pdf", title="Manual of the pump X-200")
    visitor.sign_in("alice")
    visitor.page.get_by_label("Question").fill(QUESTION)
    visitor.page.get_by_role("button", name="Ask").click()
    expect(visitor.page.get_by_text("Waiting for its turn")).to_be_visible()
    visitor.page.context.clear_cookies()
    visitor.page.wait_for_url(re.compile(r"/signin/\?next=%2Fruns%2F"))
