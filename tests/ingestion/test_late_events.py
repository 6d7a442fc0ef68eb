"""Events in any order come to the same end; what is refused leaves nothing behind; nothing stays under way for ever."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from ingestion.domain.events import DOCUMENTS_TOPIC
from ingestion.models import AccessAssignment, Build, DeadLetter, Document, InboxEvent
from ingestion.seams.event_bus import Message
from ingestion.services.documents import blob_store, source_ensure
from ingestion.services.events import event_apply, event_receive
from ingestion.services.job_control import job_cancel, job_retry
from tests.ingestion.fakes import Workbench


def _event(bench: Workbench, kind: str, revision: int, text: str = "", access: tuple[str, ...] | None = None) -> bytes:
    data: dict[str, Any] = {"corpus": bench.corpus().slug, "external_id": "a.pdf"}
    if text:
        blob = blob_store(bench.cast.organisation, text.encode())
        data["blob"] = {"sha256": blob.sha256, "bytes": blob.bytes}
    if access is not None:
        data["access"] = {"allow": list(access)}
    source = source_ensure(bench.cast.organisation, "outside").uri
    head = {"specversion": "1.0", "id": f"{kind}-{revision}", "source": source, "type": f"document.{kind}", "sequence": revision}
    return json.dumps({**head, "data": data}).encode()


def _apply(bench: Workbench, *events: bytes) -> Document:
    for event in events:
        inbox_id = event_receive(Message(DOCUMENTS_TOPIC, b"library/a.pdf", event))
        assert inbox_id is not None
        event_apply(inbox_id)
    bench.work()
    return Document.objects.get(external_id="a.pdf")


def _allowed(document: Document) -> list[str]:
    found = AccessAssignment.objects.filter(document=document, valid_to__isnull=True).first()
    names = {p.id: p.name for p in document.organisation.principals.all()}
    return [] if found is None else sorted(names[one] for one in found.allow or ())


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_content_a_later_content_and_a_list_in_any_order(bench: Workbench, order: tuple[int, ...]) -> None:
    events = [
        _event(bench, "created", 1, "the first text", ("staff",)),
        _event(bench, "updated", 2, "the second text", ("legal",)),
        _event(bench, "access_changed", 3, access=("board",)),
    ]
    document = _apply(bench, *(events[place] for place in order))
    assert document.live_build.pages.get().content.text == "the second text"
    assert (_allowed(document), document.revision) == (["board"], 3)


def test_a_list_that_overtook_its_document_does_not_lose_the_content(bench: Workbench) -> None:
    document = _apply(bench, _event(bench, "access_changed", 2, access=("board",)), _event(bench, "created", 1, "a text", ("staff",)))
    assert document.live_build is not None and _allowed(document) == ["board"]
    assert set(InboxEvent.objects.values_list("state", flat=True)) == {"applied"}


def test_a_deletion_that_a_list_overtook_still_deletes(bench: Workbench) -> None:
    document = _apply(
        bench, _event(bench, "created", 1, "a text"), _event(bench, "access_changed", 3, access=("board",)), _event(bench, "deleted", 2)
    )
    assert document.deleted_at is not None and document.live_build is None


def test_a_list_does_not_bring_a_deleted_document_back(bench: Workbench) -> None:
    document = _apply(
        bench, _event(bench, "created", 1, "a text"), _event(bench, "deleted", 2), _event(bench, "access_changed", 3, access=("staff",))
    )
    assert document.deleted_at is not None and document.revision == 3


def test_a_refused_event_leaves_no_document_behind(bench: Workbench) -> None:
    stranger = json.loads(_event(bench, "created", 1, "a text"))
    stranger["data"]["blob"]["sha256"] = "0" * 64
    event_apply(event_receive(Message(DOCUMENTS_TOPIC, b"library/a.pdf", json.dumps(stranger).encode())))
    assert not Document.objects.exists()
    assert DeadLetter.objects.get().cause == "unknown_blob"


def test_another_bad_message_at_a_known_place_is_kept_too(bench: Workbench) -> None:
    """The embedded broker counts from nothing again after a restart."""
    for value in (b"{one", b"{one", b"{two", b"{one"):
        event_receive(Message(DOCUMENTS_TOPIC, b"k", value, {}, 0, 7))
    assert sorted(bytes(letter.value) for letter in DeadLetter.objects.all()) == [b"{one", b"{two"]


def test_no_build_stays_under_way_when_its_job_has_ended(bench: Workbench) -> None:
    bench.submit("the first text")
    bench.deliver()
    bench.submit("the second text")
    bench.deliver()
    assert list(Build.objects.order_by("id").values_list("state", flat=True)) == ["withdrawn", "building"]
    assert job_cancel(job=bench.newest_job(), actor="test")
    assert not Build.objects.filter(state="building").exists()
    assert job_retry(job=bench.newest_job(), actor="test")
    bench.work()
    assert Document.objects.get().live_build.state == "live"
