"""A document deleted for good leaves nothing behind in any table or store; what is not its own stays. Dead letters come back."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from ingestion.domain.errors import NeedsHuman
from ingestion.models import AuditPayload, Blob, Build, DeadLetter, Document, InboxEvent, Page, PageText
from ingestion.seams import load
from ingestion.seams.event_bus import Message
from ingestion.services.audit import audit_verify
from ingestion.services.corpora import corpus_create
from ingestion.services.documents import document_withdraw
from ingestion.services.events import event_apply, event_receive
from ingestion.services.purge import document_purge, document_remains
from ingestion.services.redrive import dead_letter_redrive
from qa.services.answering import run_execute
from qa.services.questions import question_ask
from tests.ingestion.fakes import Workbench
from tests.site.test_retention import cite


def withdrawn(bench: Workbench, document: Document) -> Document:
    document_withdraw(actor="test", document=document)
    bench.deliver()
    document.refresh_from_db()
    return document


def test_one_that_is_still_in_use_is_refused(bench: Workbench) -> None:
    document = bench.publish("text")
    with pytest.raises(NeedsHuman):
        document_purge(document=document, actor="test")
    assert Page.objects.exists()


def test_nothing_rests_on_it_any_more(bench: Workbench) -> None:
    document = bench.publish("the zephyr is secret\fsecond", title="Zephyr plan")
    bench.publish("the zephyr is secret\fchanged", title="Zephyr plan")
    other = bench.publish("something else", "other.pdf")
    document.refresh_from_db()
    run = question_ask(user=bench.cast.alice, corpus_slug="library", text="What is secret?", seed=1)
    run_execute(run.id)
    cite(run, Page.objects.filter(document=document, build=document.live_build).first())
    withdrawn(bench, document)
    before = document_remains(document)
    assert {"ingestion_build", "ingestion_page", "ingestion_pagetext", "stored files", "answers and texts of runs"} <= set(before)
    document_purge(document=document, actor="test")
    assert document_remains(document) == {}
    # The word is searched for in every table, whatever points where.
    assert [name for name in tables_with("zephyr") if name not in ("qa_question",)] == []
    other.refresh_from_db()
    assert set(Build.objects.all()) == {other.live_build} and PageText.objects.count() == 1
    assert len(list(load("blobs").keys(""))) == 2  # the other one's content and its picture
    assert audit_verify(bench.cast.organisation) == []
    assert not AuditPayload.objects.filter(documents__contains=[str(document.id)], erased_at__isnull=True)


def tables_with(word: str) -> list[str]:
    """Tables of ours in which any column holds the word."""



    found = []
    for model in apps.get_models():
        if model._meta.app_label in ("ingestion", "qa"):
            with connection.cursor() as cursor:
                cursor.execute(f'select count(*) from "{model._meta.db_table}" t where t::text ilike %s', [f"%{word}%"])
                if cursor.fetchone()[0]:
                    found.append(model._meta.db_table)
    return found


def test_content_that_another_document_has_too_stays(bench: Workbench) -> None:
    first, second = bench.publish("shared", "one.pdf"), bench.publish("shared", "two.pdf")
    document_purge(document=withdrawn(bench, first), actor="test")
    blob = Blob.objects.get()
    assert load("blobs").exists(blob.key) and Document.objects.get(id=second.id).live_build is not None
    document_purge(document=withdrawn(bench, second), actor="test")
    assert not Blob.objects.exists() and list(load("blobs").keys("")) == []


def test_it_may_be_handed_in_again(bench: Workbench) -> None:
    document = bench.publish("text")
    document_purge(document=withdrawn(bench, document), actor="test")
    again = bench.publish("text")
    assert again.id == document.id and again.live_build.page_count == 1


def test_a_dead_event_is_taken_in_once_its_corpus_is_there(bench: Workbench) -> None:
    bench.submit("text")
    message = bench.messages()[0]
    event = json.loads(message.value)
    event["data"]["corpus"] = "later"
    event_receive(Message(message.topic, message.key, json.dumps(event).encode(), {}, 0, 3))
    InboxEvent.objects.update(received_at=timezone.now() - timedelta(hours=1))


    assert event_apply(InboxEvent.objects.get().id).value == "dead"
    letter = DeadLetter.objects.get()
    corpus_create(actor="test", organisation=bench.cast.organisation, slug="later", allow=("staff",))
    assert dead_letter_redrive(letter=letter, actor="test") is True
    assert (InboxEvent.objects.get().state, DeadLetter.objects.count()) == ("applied", 0)
    assert audit_verify(bench.cast.organisation) == []


def test_a_letter_whose_cause_remains_stays_dead_and_is_kept_once(bench: Workbench) -> None:
    event_receive(Message("docmemo.documents", b"k", b"not json", {}, 0, 5))
    letter = DeadLetter.objects.get()
    assert dead_letter_redrive(letter=letter, actor="test") is False
    assert DeadLetter.objects.get().id == letter.id
