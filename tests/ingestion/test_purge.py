"""A deleted document is forgotten: every row, file and payload of it, with a receipt that can be checked; and only of it."""

from __future__ import annotations

import base64
import json
from datetime import timedelta

import pytest
from django.apps import apps
from django.db.models import ForeignKey, Model
from django.utils import timezone

from ingestion.models import (
    AccessAssignment,
    Blob,
    Build,
    DeadLetter,
    Document,
    DocumentVersion,
    InboxEvent,
    OutboxEvent,
    Page,
    Principal,
    Purge,
)
from ingestion.seams import load
from ingestion.seams.event_bus import Message
from ingestion.services.audit import audit_verify
from ingestion.services.documents import document_withdraw, source_ensure
from ingestion.services.events import event_apply, event_receive
from ingestion.services.purge import DERIVED_ROWS, document_purge, document_remains, purges_offer_due
from ingestion.stages.render import picture_key
from qa.models import Answer, Citation, Claim, Question, Round, Run, RunPin
from tests.ingestion.fakes import Workbench

TEXT = "GUARANTEE\nthe pump lasts thirty six months\fSECOND\nanother page of it"
# What stays, and why.
KEPT = {
    Document: "the tombstone: its id and revision are what a late event is compared with",
    Purge: "the receipt",
    AccessAssignment: "who might read it, as intervals; no content",
    Question: "the words of the person who asked",
}


def forget(bench: Workbench, document: Document) -> Purge:
    document_withdraw(actor="test", document=document)
    bench.deliver()
    bench.work()
    return Purge.objects.get(document=document)


def test_every_table_that_leads_to_a_document_is_purged_or_kept_for_a_reason() -> None:
    derived = {model for model, _ in DERIVED_ROWS} | {DocumentVersion, Citation, RunPin}  # the last two by qa's own store
    leading: set[type[Model]] = {Document}
    while True:
        more = {
            model
            for app in ("ingestion", "qa")
            for model in apps.get_app_config(app).get_models(include_auto_created=True)
            if any(isinstance(f, ForeignKey) and f.related_model in leading - {Question} for f in model._meta.get_fields())
        }
        if more <= leading:
            break
        leading |= more
    assert leading - derived - set(KEPT) == set()


def test_nothing_of_a_deleted_document_is_left(bench: Workbench) -> None:
    document = bench.publish(TEXT, title="Pump guarantee", file_name="guarantee.pdf")
    other = bench.publish("quite another text", external_id="other.pdf")
    blobs = load("blobs")
    assert len(list(blobs.keys())) == 2 + 3  # two files, three pictures
    purge = forget(bench, document)
    assert purge.purged_at is not None and purge.removed["page"] == 2 and purge.removed["blob"] == 1 and purge.removed["picture"] == 2
    assert document_remains(document) == {}
    assert not Page.objects.filter(document=document).exists() and not DocumentVersion.objects.filter(document=document).exists()
    assert len(list(blobs.keys())) == 2 and Blob.objects.count() == 1
    assert not [key for key in list(blobs.keys()) if b"thirty six" in blobs.open(key).read()]
    events = json.dumps([list(events.objects.values_list("payload", flat=True)) for events in (InboxEvent, OutboxEvent)])
    assert "Pump guarantee" not in events and "guarantee.pdf" not in events
    document.refresh_from_db()
    assert document.title == "" and audit_verify(document.organisation) == []
    other.refresh_from_db()
    assert other.live_build is not None and Page.objects.filter(build=other.live_build).exists()


def test_a_receipt_that_is_not_true_is_found(bench: Workbench) -> None:
    document = bench.publish(TEXT)
    forget(bench, document)
    version = DocumentVersion.objects.create(document=document, number=99, revision=1, content_sha256="0" * 64, bytes=1)
    Build.objects.create(document=document, version=version, fingerprint="x")
    assert document_remains(document) == {"build": 1, "documentversion": 1}


def test_bytes_that_another_document_shares_stay(bench: Workbench) -> None:
    first = bench.publish(TEXT, external_id="first.pdf")
    second = bench.publish(TEXT, external_id="second.pdf")
    forget(bench, first)
    second.refresh_from_db()
    with load("blobs").local_path(second.live_version.blob.key) as path:
        assert path.read_bytes() == TEXT.encode()
    forget(bench, second)
    assert Blob.objects.count() == 0 and not list(load("blobs").keys())


def test_bytes_that_came_too_late_to_become_a_version_go_as_well(bench: Workbench) -> None:
    bench.submit("what came late")
    bench.submit(TEXT)
    late, first = bench.messages()
    event_apply(event_receive(first))
    event_apply(event_receive(late))
    bench.work()
    document = Document.objects.get()
    assert Blob.objects.count() == 2 and DocumentVersion.objects.count() == 1
    forget(bench, document)
    assert Blob.objects.count() == 0 and not list(load("blobs").keys())


def inline(number: int, text: str, revision: int) -> Message:
    data = {"corpus": "library", "external_id": "a.pdf", "content_base64": base64.b64encode(text.encode()).decode()}
    event = {
        "specversion": "1.0", "id": f"e{number}", "source": "/docmemo/acme/upload", "type": "document.updated",
        "sequence": revision, "data": data,
    }  # fmt: skip
    return Message("docmemo.documents", b"library/a.pdf", json.dumps(event).encode(), {}, 0, 500 + number)


def test_an_event_that_is_sent_again_brings_no_forgotten_bytes_back(bench: Workbench) -> None:
    bench.corpus()
    source_ensure(bench.cast.organisation, "upload")
    event_apply(event_receive(inline(1, TEXT, 1)))
    bench.work()
    document = Document.objects.get()
    forget(bench, document)
    assert event_receive(inline(1, TEXT, 1)) is None
    assert Blob.objects.count() == 0 and not list(load("blobs").keys()) and document_remains(document) == {}


def test_bytes_that_come_after_the_receipt_are_forgotten_too(bench: Workbench) -> None:
    bench.corpus()
    source_ensure(bench.cast.organisation, "upload")
    event_apply(event_receive(inline(1, TEXT, 5)))
    bench.work()
    document = Document.objects.get()
    purge = forget(bench, document)
    document_purge(purge.id)
    purge.refresh_from_db()
    assert purge.confirmed_at is not None
    assert event_apply(event_receive(inline(2, "an older version", 3))).value == "stale"
    assert document_remains(document) == {"event": 1}
    bench.work()
    assert Blob.objects.count() == 0 and document_remains(document) == {}


def test_a_late_list_does_not_outdo_a_newer_one_that_was_purged(bench: Workbench) -> None:
    bench.corpus()
    bench.submit(TEXT)
    bench.submit(TEXT, allow=["staff"])
    bench.submit(TEXT, allow=["bosses"])
    first, late, newest = bench.messages()
    for message in (first, newest):
        event_apply(event_receive(message))
    bench.work()
    document = Document.objects.get()
    forget(bench, document)
    assert event_apply(event_receive(late)).value == "stale"
    assert [tag.name for tag in Principal.objects.filter(id__in=AccessAssignment.objects.get(
        document=document, valid_to__isnull=True).allow)] == ["bosses"]


def test_a_document_that_comes_again_before_it_was_forgotten_keeps_its_new_life(bench: Workbench) -> None:
    old = bench.publish(TEXT).live_version
    document = Document.objects.get()
    document_withdraw(actor="test", document=document)
    bench.deliver()
    [task] = [task for task in bench.queue.offered if task[0] == "docmemo.purge"]
    bench.queue.offered.remove(task)
    document = bench.publish(TEXT)  # the same bytes
    assert document.live_version.id != old.id and document.live_version.number == 2
    document_purge(Purge.objects.get().id)
    document.refresh_from_db()
    assert list(DocumentVersion.objects.values_list("number", flat=True)) == [2]
    assert Page.objects.filter(build=document.live_build).count() == 2 and document_remains(document) == {}
    with load("blobs").local_path(document.live_version.blob.key) as path:
        assert path.read_bytes() == TEXT.encode()


def test_a_purge_can_be_cut_off_and_done_again(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    document = bench.publish(TEXT)
    document_withdraw(actor="test", document=document)
    bench.deliver()
    bench.queue.offered.clear()
    purge = Purge.objects.get()
    blobs = load("blobs")
    monkeypatch.setattr(blobs, "delete", lambda key: (_ for _ in ()).throw(OSError("the disk is away")))
    with pytest.raises(OSError, match="away"):
        document_purge(purge.id)
    purge.refresh_from_db()
    assert purge.purged_at is None and document_remains(document)
    monkeypatch.undo()
    document_purge(purge.id)
    assert document_remains(document) == {}


def test_a_picture_that_a_worker_wrote_last_is_found_by_the_second_look(bench: Workbench) -> None:
    document = bench.publish(TEXT)
    build = document.live_build_id
    purge = forget(bench, document)
    late = picture_key(document.organisation_id, build, 1)
    load("blobs").put(late, b"a picture that came late")
    assert document_remains(document) == {"picture": 1}
    document_purge(purge.id)
    purge.refresh_from_db()
    assert document_remains(document) == {} and purge.confirmed_at is not None and purge.removed["picture"] == 3


def test_a_dead_letter_that_quotes_the_document_is_emptied(bench: Workbench) -> None:
    document = bench.publish(TEXT)
    body = b'{"source": "/docmemo/acme/upload", "text": "thirty six months"'
    event_receive(Message("docmemo.documents", b"library/a.pdf", body, {}, 0, 900))
    event_receive(Message("docmemo.documents", b"library/a.pdf", body.replace(b"acme", b"else"), {}, 0, 901))
    forget(bench, document)
    assert sorted(bytes(letter.value) == b"" for letter in DeadLetter.objects.all()) == [False, True]


def test_answers_that_quote_the_document_are_withdrawn(bench: Workbench) -> None:
    document = bench.publish(TEXT)
    other = bench.publish("another document entirely", external_id="other.pdf")
    alice = bench.cast.alice
    question = Question.objects.create(organisation=bench.cast.organisation, asker=alice, corpus_slug="library", text="how long?")
    run = Run.objects.create(question=question, state="done", verdict="answered", seed=1)
    Round.objects.create(run=run, number=1, texts={"found": ["the pump lasts thirty six months"]})
    answer = Answer.objects.create(run=run, text="the pump lasts thirty six months another document entirely")
    for ordinal, held in enumerate((document, other)):
        page = Page.objects.filter(build=held.live_build).order_by("number").first()
        RunPin.objects.create(run=run, document=held, version=held.live_version, build=held.live_build)
        text = page.content.text
        claim = Claim.objects.create(answer=answer, ordinal=ordinal, text=text)
        Citation.objects.create(
            claim=claim, ordinal=0, document=held, version=held.live_version, build=held.live_build, page=page, page_number=1,
            start=0, end=len(text), quote=text, quote_sha256="0" * 64,
        )  # fmt: skip
    forget(bench, document)
    answer.refresh_from_db()
    assert answer.withdrawn_at is not None and "thirty six" not in answer.text and "another document" in answer.text
    assert [claim.text == "" for claim in Claim.objects.order_by("ordinal")] == [True, False]
    assert [c.document_id for c in Citation.objects.all()] == [other.id] and Round.objects.get().texts == {}
    assert OutboxEvent.objects.filter(type="answer.withdrawn").count() == 1


def test_the_sweeper_offers_what_was_not_done(bench: Workbench) -> None:
    document = bench.publish(TEXT)
    document_withdraw(actor="test", document=document)
    bench.deliver()
    bench.queue.offered.clear()  # the broker forgot
    assert purges_offer_due() == 0  # offered a moment ago
    Purge.objects.update(offered_at=timezone.now() - timedelta(minutes=5))
    assert purges_offer_due() == 1
    bench.work()
    assert document_remains(document) == {}
