"""Events of documents and corpora: both modes, keys, order, what is refused, what is tried again, what is told to the outside."""

from __future__ import annotations

import base64
import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from docmemo_site.management.commands.event_schemas import schemas
from ingestion.domain.errors import Permanent
from ingestion.domain.events import CORPORA_TOPIC, DOCUMENTS_TOPIC, OutcomeEvent, parse_event
from ingestion.models import AccessAssignment, Corpus, DeadLetter, Document, InboxEvent, Job, OutboxEvent, Source
from ingestion.seams.event_bus import Message
from ingestion.services.documents import document_submit, document_withdraw
from ingestion.services.events import MAX_ATTEMPTS, dead_letter_redrive, event_apply, event_receive, events_resend
from tests.ingestion.fakes import Workbench
from workers.consumer import apply_received


def event(kind: str, sequence: int, *, external_id: str = "a.pdf", corpus: str = "library", **data: object) -> dict:
    value = {
        "specversion": "1.0", "id": f"{kind}-{corpus}-{external_id}-{sequence}", "source": "/docmemo/acme/upload", "type": kind,
        "sequence": sequence, "data": {"corpus": corpus, **data},
    }  # fmt: skip
    if kind.startswith("document."):
        value["data"]["external_id"] = external_id
    return value


def message(value: dict, offset: int = 1) -> Message:
    data = value["data"]
    key = f"{data['corpus']}/{data['external_id']}" if "external_id" in data else data["corpus"]
    topic = DOCUMENTS_TOPIC if "external_id" in data else CORPORA_TOPIC
    return Message(topic, key.encode(), json.dumps(value).encode(), {}, 0, offset)


def inline(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def send(value: dict) -> InboxEvent:
    inbox = event_receive(message(value))
    assert inbox is not None, DeadLetter.objects.values_list("cause", "reason")
    event_apply(inbox)
    return InboxEvent.objects.get(id=inbox)


@pytest.fixture
def source(bench: Workbench) -> Source:
    return Source.objects.create(organisation=bench.cast.organisation, name="upload")


def test_binary_mode_means_the_same_as_structured_mode() -> None:
    value = event("document.updated", 7, content_base64=inline("text"), title="T")
    headers = {f"ce_{name}": str(content).encode() for name, content in value.items() if name != "data"}
    binary = parse_event(json.dumps(value["data"]).encode(), {**headers, "content-type": b"application/json"})
    assert binary == parse_event(json.dumps(value).encode())


@given(st.binary(max_size=300), st.dictionaries(st.sampled_from(["ce_specversion", "ce_type", "ce_id", "x"]), st.binary(max_size=20)))
def test_whatever_arrives_is_an_event_or_a_reason(value: bytes, headers: dict[str, bytes]) -> None:
    try:
        parse_event(value, headers)
    except Permanent as error:
        assert error.code in ("not_json", "bad_event", "too_large")


def test_a_key_that_is_not_the_documents_is_refused(bench: Workbench, source: Source) -> None:
    for number, key in enumerate([None, b"", b"library/other.pdf", b"\xff"]):
        value = message(event("document.updated", 1, content_base64=inline("x")))
        assert event_receive(Message(value.topic, key, value.value, {}, 0, number)) is None
    assert set(DeadLetter.objects.values_list("cause", flat=True)) == {"bad_key"} and DeadLetter.objects.count() == 4


def test_a_corpus_comes_changes_and_goes_by_events(bench: Workbench, source: Source) -> None:
    assert send(event("corpus.created", 10, corpus="hr", name="Personnel", access={"allow": ["staff"]})).state == "applied"
    assert send(event("document.created", 11, corpus="hr", content_base64=inline("leave is thirty days"))).state == "applied"
    bench.work()
    document = Document.objects.get()
    assert document.live_build is not None and bench.sees("alice", document)
    assert send(event("corpus.updated", 12, corpus="hr", access={"allow": [], "deny": []})).state == "applied"
    assert not bench.sees("alice", document)
    assert send(event("corpus.updated", 11, corpus="hr", access={"allow": ["staff"]})).state == "stale"
    assert not bench.sees("alice", document)
    assert send(event("corpus.deleted", 13, corpus="hr")).state == "applied"
    document.refresh_from_db()
    assert document.live_build is None and document.deleted_at is not None
    refused = send(event("document.updated", 14, corpus="hr", content_base64=inline("again")))
    assert (refused.state, refused.reason.split(":")[0]) == ("dead", "corpus_deleted")


def test_a_corpus_event_without_a_list_lets_nobody_in(bench: Workbench, source: Source) -> None:
    send(event("corpus.created", 10, corpus="hr"))
    assert AccessAssignment.objects.get(corpus__slug="hr").allow == []
    send(event("corpus.updated", 11, corpus="hr", access={"allow": None}))
    assert AccessAssignment.objects.get(corpus__slug="hr", valid_to__isnull=True).allow == []


def test_a_source_writes_to_its_own_corpora_only(bench: Workbench, source: Source) -> None:
    source.corpora.add(bench.corpus())
    bench.corpus("other")
    assert send(event("document.updated", 1, content_base64=inline("x"))).state == "applied"
    for refused in (event("document.updated", 1, corpus="other", content_base64=inline("x")), event("corpus.deleted", 9, corpus="other")):
        assert send(refused).reason.startswith("not_allowed")
    assert event("corpus.created", 9, corpus="third") and send(event("corpus.created", 9, corpus="third")).state == "dead"
    assert Corpus.objects.get(slug="other").deleted_at is None and not Corpus.objects.filter(slug="third").exists()


def test_rights_that_come_after_the_deletion_stay_on_the_tombstone(bench: Workbench, source: Source) -> None:
    bench.corpus()
    send(event("document.created", 1, content_base64=inline("one")))
    send(event("document.deleted", 2))
    assert send(event("document.access_changed", 3, access={"allow": ["bosses"]})).state == "applied"
    document = Document.objects.get()
    assert document.deleted_at is not None and document.revision == 3
    send(event("document.created", 4, content_base64=inline("two")))
    bench.work()
    assert not bench.sees("alice", document)


def test_a_blob_of_another_organisation_is_unknown(bench: Workbench, source: Source) -> None:
    bench.corpus()
    refused = send(event("document.created", 1, blob={"sha256": "0" * 64, "bytes": 3}))
    assert refused.reason.startswith("unknown_blob") and DeadLetter.objects.get().inbox_event == refused


def test_an_event_that_breaks_every_attempt_is_a_dead_letter_and_holds_nobody_up(bench: Workbench, source: Source) -> None:
    bench.corpus()
    event_receive(message(event("document.updated", 1, external_id="broken.pdf", content_base64=inline("x"))))
    InboxEvent.objects.update(payload={"corpus": "library", "access": {"allow": 7}, "blob": InboxEvent.objects.get().payload["blob"]})
    event_receive(message(event("document.updated", 1, external_id="good.pdf", content_base64=inline("y"))))
    for _ in range(3 * MAX_ATTEMPTS):
        try:
            apply_received()
        except ValueError:  # as the process's loop would
            continue
    assert InboxEvent.objects.get(external_id="good.pdf").state == "applied"
    broken = InboxEvent.objects.get(external_id="broken.pdf")
    assert (broken.state, broken.attempts) == ("dead", MAX_ATTEMPTS)
    assert DeadLetter.objects.get().cause == "apply_failed"


def test_a_dead_letter_is_redriven_once_its_cause_is_gone(bench: Workbench) -> None:
    bench.corpus()
    value = message(event("document.updated", 1, content_base64=inline("x")))
    assert event_receive(value) is None
    letter = DeadLetter.objects.get()
    assert letter.cause == "unknown_source"
    Source.objects.create(organisation=bench.cast.organisation, name="upload")
    assert dead_letter_redrive(letter=letter, actor="test").value == "applied"
    assert dead_letter_redrive(letter=letter, actor="test") is None and Job.objects.count() == 1


def test_a_late_corpus_can_be_made_up_for(bench: Workbench, source: Source) -> None:
    inbox = event_receive(message(event("document.updated", 1, corpus="late", content_base64=inline("x"))))
    InboxEvent.objects.filter(id=inbox).update(received_at=timezone.now() - timedelta(hours=1))
    assert event_apply(inbox).value == "dead"
    bench.corpus("late")
    assert dead_letter_redrive(letter=DeadLetter.objects.get(cause="unknown_corpus"), actor="test").value == "applied"
    assert InboxEvent.objects.get(id=inbox).state == "applied"


def test_what_the_broker_forgot_is_sent_again_and_what_it_kept_is_not(bench: Workbench) -> None:
    bench.submit("forgotten", external_id="a.pdf")
    bench.submit("kept", external_id="b.pdf")
    for sent in bench.messages():
        if b"b.pdf" in sent.value:
            event_receive(sent)
    OutboxEvent.objects.filter(published_at__isnull=False).update(published_at=timezone.now() - timedelta(minutes=2))
    assert events_resend() == 1 and events_resend() == 0
    OutboxEvent.objects.filter(payload__data__external_id="a.pdf").update(
        published_at=timezone.now() - timedelta(seconds=30), publications=2
    )
    assert events_resend() == 0  # sent twice: it is waited for longer
    OutboxEvent.objects.filter(payload__data__external_id="a.pdf").update(published_at=timezone.now() - timedelta(seconds=50))
    assert events_resend() == 1
    again = bench.messages()
    assert [b"a.pdf" in sent.value for sent in again] == [True]
    bench.offset += 1
    assert event_receive(again[0]) is not None
    assert InboxEvent.objects.count() == 2 and OutboxEvent.objects.filter(topic=DOCUMENTS_TOPIC, received_at__isnull=True).count() == 0


def test_a_stranger_cannot_mark_our_event_as_received(bench: Workbench) -> None:
    bench.submit("mine")
    ours = OutboxEvent.objects.get(topic=DOCUMENTS_TOPIC)
    Source.objects.create(organisation=bench.cast.organisation, name="other")
    forged = {**event("document.updated", 1, external_id="x.pdf", content_base64=inline("x")), "id": str(ours.id)}
    event_receive(message({**forged, "source": "/docmemo/acme/other"}))
    ours.refresh_from_db()
    assert ours.received_at is None


def test_the_next_revision_grows_when_the_clock_does_not(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.submit("one")
    monkeypatch.setattr("time.time_ns", lambda: 1_000_000)  # the clock went back
    bench.submit("two")
    bench.submit("three")
    first, second, third = (json.loads(m.value)["sequence"] for m in bench.messages())
    assert first < second < third


def test_outcomes_are_cloud_events_with_ids_and_codes_only(bench: Workbench) -> None:
    document = bench.publish("version one", title="A secret title")
    bench.publish("version two")
    bench.publish(b"FAIL corrupt")
    document_withdraw(actor="test", document=document)
    bench.deliver()
    told = [OutcomeEvent.model_validate(row.payload) for row in OutboxEvent.objects.filter(topic="docmemo.events").order_by("id")]
    assert [t.type.value.rsplit(".")[-1] for t in told] == ["published", "published", "superseded", "failed", "withdrawn"]
    assert all(t.subject == "library/a.pdf" and t.source == "/docmemo/acme" for t in told)
    assert len({t.id for t in told}) == 5 and "secret" not in json.dumps([t.model_dump(mode="json") for t in told])


def test_twenty_senders_of_the_same_document_make_one_ingest(bench: Workbench) -> None:
    corpus = bench.corpus()
    for _ in range(20):
        document_submit(
            organisation=bench.cast.organisation, actor="test", corpus=corpus, external_id="a.pdf", content=b"same text"
        )
    bench.deliver()
    bench.work()
    assert Job.objects.count() == 1 and Document.objects.get().live_version.number == 1


def test_the_schemas_in_the_repository_are_those_of_the_types() -> None:
    call_command("event_schemas", "--check")
    assert set(schemas()) == {"document.schema.json", "corpus.schema.json", "outcome.schema.json"}
