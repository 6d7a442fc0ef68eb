"""The report finds what is planted: a loss, a doubling, something stuck, an orphan. A clean line gives none."""

from __future__ import annotations

import hashlib
import socket
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from docmemo_site.drill import consistency
from docmemo_site.drill.faults import Fault
from docmemo_site.drill.generator import Access, Poison, Sent
from docmemo_site.drill.oracle import expectations
from docmemo_site.drill.report import Findings, Report
from ingestion.models import Build, DeadLetter, Document, InboxEvent, OutboxEvent, PageText, PassageVector, StageRun
from ingestion.services.audit import audit_append
from ingestion.services.events import event_receive
from ingestion.services.jobs import run_claim
from tests.ingestion.fakes import Workbench

FACTS = ("the first fact stands here", "the second fact stands here")


@pytest.fixture
def sent(bench: Workbench) -> list[Sent]:
    """Two documents that went the whole way, as the generator would list them."""
    found = []
    for name in ("a.pdf", "b.pdf"):
        text = "\f".join(f"{name}: {fact}" for fact in FACTS)
        event_id = bench.submit(text, name, allow=("staff",))
        bench.deliver()
        bench.work()
        revision = OutboxEvent.objects.get(id=event_id).payload["sequence"]
        pages = tuple(text.split("\f"))
        found.append(Sent(str(event_id), "document.updated", name, revision, text.encode(), pages, Access(("staff",))))
    OutboxEvent.objects.filter(published_at__isnull=True).update(published_at=timezone.now())
    return found


def _findings(bench: Workbench, sent: list[Sent]) -> Findings:
    blobs = Path(settings.SEAMS["blobs"]["OPTIONS"]["root"])
    return consistency.compare(bench.corpus(), blobs, sent, expectations(sent))


def test_a_clean_line_has_no_findings(bench: Workbench, sent: list[Sent]) -> None:
    assert _findings(bench, sent) == Findings()
    assert consistency.effects(bench.corpus(), sent) == 2


# --- lost ------------------------------------------------------------------------------------------


def test_an_event_without_a_trace_is_lost(bench: Workbench, sent: list[Sent]) -> None:
    late = Sent("never-arrived", "document.updated", "a.pdf", sent[0].revision + 1, b"other", ("other",), Access(None))
    lost = _findings(bench, [*sent, late]).lost
    assert any("never-arrived" in line and "never reached" in line for line in lost)
    assert any("is live, not" in line for line in lost) and any("access is" in line for line in lost)


def test_an_effect_that_is_gone_is_lost(bench: Workbench, sent: list[Sent]) -> None:
    Document.objects.filter(external_id="a.pdf").update(live_build=None, live_version=None)
    lost = _findings(bench, sent).lost
    assert [line for line in lost if line.startswith("a.pdf: content None is live")] == lost


def test_an_event_that_was_refused_is_lost(bench: Workbench, sent: list[Sent]) -> None:
    known = InboxEvent.objects.get(external_id="b.pdf")
    InboxEvent.objects.create(
        source=known.source, event_id="refused", type=known.type, corpus_slug=known.corpus_slug, external_id="b.pdf",
        revision=known.revision - 1, payload={}, state="dead", reason="refused",
    )  # fmt: skip
    refused = Sent("refused", "document.updated", "b.pdf", known.revision - 1, access=Access(None))
    assert _findings(bench, [*sent, refused]).lost == ["b.pdf: event refused (document.updated) is dead"]


def test_a_page_with_another_text_or_without_vectors_is_lost(bench: Workbench, sent: list[Sent]) -> None:
    PageText.objects.filter(page__document__external_id="a.pdf", page__number=2).update(text="something else")
    PassageVector.objects.filter(page__document__external_id="b.pdf").delete()
    lost = _findings(bench, sent).lost
    assert lost == ["a.pdf: page 2 does not hold its fact", "b.pdf: 2 pages have no passage vectors"]


def test_a_deletion_that_did_not_happen_is_lost(bench: Workbench, sent: list[Sent]) -> None:
    gone = Sent(sent[0].id, "document.deleted", "a.pdf", sent[0].revision)
    assert "a.pdf: is not deleted" in _findings(bench, [gone, sent[1]]).lost


def test_a_publication_that_nobody_was_told_of_is_lost(bench: Workbench, sent: list[Sent]) -> None:
    told = Build.objects.get(document__external_id="a.pdf")
    said = b'{"type": "document.version.published", "data": {"build": "%s"}}' % str(told.id).encode()
    untold = Build.objects.get(document__external_id="b.pdf")
    assert consistency.announcements_lost([said, said]) == [f"build {untold.id} was published and nobody was told"]


# --- doubled ---------------------------------------------------------------------------------------


def test_a_second_live_build_is_a_doubling(bench: Workbench, sent: list[Sent]) -> None:
    build = Build.objects.get(document__external_id="a.pdf")
    Build.objects.create(document=build.document, version=build.version, fingerprint="other", state="live")
    findings = _findings(bench, sent)
    assert findings.doubled == [f"document {build.document_id} has 2 live builds"]
    assert findings.orphans and "does not point to it" in findings.orphans[0]


def test_a_second_announcement_and_a_second_effect_are_doublings(bench: Workbench, sent: list[Sent]) -> None:
    first = OutboxEvent.objects.filter(type="document.version.published").first()
    OutboxEvent.objects.create(topic=first.topic, key=first.key, type=first.type, payload=first.payload, published_at=timezone.now())
    event = InboxEvent.objects.get(external_id="a.pdf")
    with transaction.atomic():
        audit_append(organisation=bench.cast.organisation, act="document.updated", subject="x", actor="t", body={"event": str(event.id)})
    doubled = _findings(bench, sent).doubled
    assert f"build {first.payload['data']['build']} was announced 2 times" in doubled
    assert f"inbox event {event.id} took effect 2 times" in doubled


# --- stuck -----------------------------------------------------------------------------------------


def test_whatever_is_not_at_its_end_is_stuck(bench: Workbench, sent: list[Sent]) -> None:
    bench.submit("taken in and not worked on", "c.pdf")
    bench.deliver()
    event_id = bench.submit("kept and not put into effect", "d.pdf")
    event_receive(bench.messages()[0])
    bench.submit("not even published", "e.pdf")
    stuck = "\n".join(_findings(bench, sent).stuck)
    assert f"job {bench.newest_job().id}" in stuck
    assert "(inspect) is pending" in stuck and "is building" in stuck
    assert f"inbox event {event_id} (d.pdf) is received" in stuck and "(document.updated) is not published" in stuck


# --- orphans ---------------------------------------------------------------------------------------


def test_a_lease_of_a_dead_process_is_an_orphan(bench: Workbench, sent: list[Sent]) -> None:
    bench.submit("held by nobody", "c.pdf")
    bench.deliver()
    run = StageRun.objects.get(job=bench.newest_job())
    assert run_claim(run.id, f"{socket.gethostname()}:999999999", timedelta(hours=1))
    assert f"stage run {run.id} is leased to process 999999999, which is dead" in _findings(bench, sent).orphans


def test_files_and_documents_that_belong_to_nothing_are_orphans(bench: Workbench, sent: list[Sent]) -> None:
    root = Path(settings.SEAMS["blobs"]["OPTIONS"]["root"])
    folder = root / str(bench.cast.organisation.id) / "content" / "00"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha256(b"x").hexdigest()).write_bytes(b"x")
    (folder / ".new-abc").write_bytes(b"x")
    Document.objects.create(organisation=bench.cast.organisation, corpus=bench.corpus(), external_id="stranger.pdf")
    orphans = _findings(bench, sent).orphans
    assert len(orphans) == 3
    assert any("belongs to no row" in line for line in orphans) and any("draft" in line for line in orphans)
    assert "stranger.pdf is a document that nobody sent" in orphans


def test_a_live_build_of_a_deleted_document_is_an_orphan(bench: Workbench, sent: list[Sent]) -> None:
    Document.objects.filter(external_id="a.pdf").update(live_build=None, live_version=None, deleted_at=timezone.now())
    build = Build.objects.get(document__external_id="a.pdf")
    assert f"build {build.id} of the deleted document {build.document_id} is live" in _findings(bench, sent).orphans


# --- poison, and the whole -------------------------------------------------------------------------


def test_poison_has_to_be_a_dead_letter_with_its_cause(bench: Workbench) -> None:
    poison = [Poison(name, "not_json", b"{", ("not_json",)) for name in ("poison-00-kept", "poison-00-wrong", "poison-00-missing")]
    DeadLetter.objects.create(topic="t", key=b"drill/poison-00-kept", value=b"{", cause="not_json", reason="r")
    DeadLetter.objects.create(topic="t", key=None, value=b"{poison-00-wrong", cause="too_large", reason="r")
    letters, wrong = consistency.dead_letters(poison)
    assert letters == 1
    assert wrong == ["poison-00-wrong: its dead letter says ['too_large'], not ['not_json']", "poison-00-missing: no dead letter"]


@pytest.mark.parametrize("flaw", ["", "lost", "doubled", "stuck", "orphans", "letters", "back"])
def test_a_report_is_good_only_without_a_flaw(flaw: str) -> None:
    findings = Findings(**{name: ["one"] for name in ("lost", "doubled", "stuck", "orphans") if name == flaw})
    report = Report(
        bus="embedded", seed=1, documents=1, events=1, effects=1, findings=findings, poison=2, dead_letters=1 if flaw == "letters" else 2,
        faults=[Fault("relay", "now", "idle", back=flaw != "back")], seconds=1.0,
    )  # fmt: skip
    assert report.good == (flaw == "")
    assert report.as_json()["good"] == report.good
    assert ("NOT consistent." in report.as_text()) == (flaw != "")
