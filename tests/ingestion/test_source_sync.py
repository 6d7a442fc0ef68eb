"""A source's documents follow what the source holds: nothing lost, nothing doubled, nothing deleted that was only not seen."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ingestion.models import AccessAssignment, Document, Job, OutboxEvent, Principal, SourceConfiguration, SourceItem
from ingestion.seams.connector import ItemAccess, Misconfigured
from ingestion.seams.connector.memory import MemoryConnector, MemoryPlace
from ingestion.services import source_sync as module
from ingestion.services.documents import document_withdraw
from ingestion.services.source_sync import SyncOutcome, source_sync
from ingestion.services.sources import source_configure, source_remove
from tests.conftest import empty_tables
from tests.ingestion.fakes import Workbench
from tests.people import make_cast
from workers.watcher import watch_once


class Scene:
    """A source of the fake kind, and the way of its documents into the index."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        MemoryConnector.places.clear()
        self.place: MemoryPlace = MemoryConnector.places.setdefault("here", MemoryPlace())
        self.configuration = self.configure()

    def configure(self, **fields: object) -> SourceConfiguration:
        return source_configure(
            actor="test", corpus=self.bench.corpus(), name="drive", kind="memory", options={"place": "here"}, **fields
        )

    def sync(self, **fields: object) -> SyncOutcome:
        return source_sync(configuration=self.configuration, **fields)

    def work(self) -> None:
        self.bench.deliver()
        self.bench.work()

    def live(self) -> dict[str, int]:
        """The live documents: external id -> bytes of the live version."""
        return {
            d.external_id: d.live_version.bytes for d in Document.objects.filter(deleted_at__isnull=True, live_version__isnull=False)
        }

    def sent(self) -> list[tuple[str, str]]:
        return [
            (row.type, row.payload["data"]["external_id"])
            for row in OutboxEvent.objects.filter(topic="docmemo.documents").order_by("id")
        ]


@pytest.fixture
def scene(bench: Workbench, settings: LazySettings) -> Iterator[Scene]:
    settings.CONNECTORS = {**settings.CONNECTORS, "memory": "ingestion.seams.connector.memory.MemoryConnector"}
    yield Scene(bench)


def test_documents_come_change_and_go(scene: Scene) -> None:
    scene.place.put("a.pdf", b"one")
    scene.place.put("sub/b.pdf", b"other")
    assert (scene.sync().submitted, scene.sync().submitted) == (2, 0)
    scene.work()
    assert scene.live() == {"drive/a.pdf": 3, "drive/sub/b.pdf": 5}
    scene.place.put("a.pdf", b"one more")
    scene.place.remove("sub/b.pdf")
    outcome = scene.sync()
    assert (outcome.state, outcome.submitted, outcome.deleted) == ("complete", 1, 1)
    scene.work()
    assert scene.live() == {"drive/a.pdf": 8}
    assert list(SourceItem.objects.values_list("external_id", flat=True)) == ["a.pdf"]


def test_the_same_listing_again_sends_nothing_and_reads_nothing(scene: Scene) -> None:
    scene.place.put("a.pdf", b"one")
    scene.sync()
    sent, opened = scene.sent(), list(scene.place.opened)
    for _ in range(3):
        assert scene.sync().events == []
    assert (scene.sent(), scene.place.opened) == (sent, opened)


def test_a_source_that_is_away_deletes_nothing(scene: Scene) -> None:
    scene.place.put("a.pdf", b"one")
    scene.sync()
    scene.place.away = True
    assert (scene.sync().state, len(scene.sent())) == ("source_unreachable", 1)
    scene.place.away = False
    assert scene.sync().events == []


def test_a_partial_listing_deletes_nothing_and_takes_what_it_shows(scene: Scene) -> None:
    for name in ("a.pdf", "b.pdf", "c.pdf"):
        scene.place.put(name, name.encode())
    scene.sync()
    scene.place.put("a.pdf", b"changed")
    scene.place.shows = 1
    outcome = scene.sync()
    assert (outcome.state, outcome.submitted, outcome.deleted) == ("partial", 1, 0)
    assert SourceItem.objects.filter(missing_since__isnull=True).count() == 3


def test_an_empty_place_is_a_place_from_which_all_is_gone(scene: Scene) -> None:
    scene.place.put("a.pdf", b"one")
    scene.sync()
    scene.place.remove("a.pdf")
    assert scene.sync().deleted == 1


def test_what_is_not_ready_is_neither_taken_nor_gone(scene: Scene) -> None:
    scene.place.put("a.pdf", b"one")
    scene.sync()
    scene.place.put("a.pdf", b"half of")
    scene.place.put("b.pdf", b"half")
    scene.place.unready = {"a.pdf", "b.pdf"}
    assert scene.sync().events == []
    scene.place.unready = set()
    assert scene.sync().submitted == 2


def test_many_deletions_at_once_wait_for_a_person(scene: Scene) -> None:
    for number in range(module.HELD_FROM):
        scene.place.put(f"{number}.pdf", b"x")
    scene.sync()
    contents, scene.place.contents = dict(scene.place.contents), {}
    outcome = scene.sync()
    assert (outcome.state, outcome.held, outcome.deleted) == ("deletions_held", module.HELD_FROM, 0)
    assert SourceItem.objects.filter(missing_since__isnull=False).count() == module.HELD_FROM
    scene.place.contents = contents
    assert scene.sync().state == "complete" and not SourceItem.objects.filter(missing_since__isnull=False).exists()
    scene.place.contents = {}
    assert scene.sync(confirm_deletions=True).deleted == module.HELD_FROM


def test_what_is_too_large_is_refused_once_and_the_version_before_stays(scene: Scene, settings: LazySettings) -> None:
    scene.place.put("a.pdf", b"small")
    scene.sync()
    settings.PIPELINE = {**settings.PIPELINE, "MAX_DOCUMENT_BYTES": 8}
    scene.place.put("a.pdf", b"much larger")
    first, second = scene.sync(), scene.sync()
    assert first.refused["a.pdf"].startswith("too_large: ") and not second.refused
    assert SourceItem.objects.get().refusal == "too_large" and scene.place.opened == ["a.pdf"]
    scene.work()
    assert scene.live() == {"drive/a.pdf": 5}
    scene.place.remove("a.pdf")
    assert scene.sync().deleted == 1


def test_bytes_that_changed_since_the_listing_are_not_handed_in(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.place.put("a.pdf", b"one")
    listed = MemoryConnector.listing

    def change_afterwards(connector: MemoryConnector) -> object:
        listing = listed(connector)
        connector.place.put("a.pdf", b"two")
        return listing

    monkeypatch.setattr(MemoryConnector, "listing", change_afterwards)
    outcome = scene.sync()
    assert (outcome.submitted, outcome.postponed, scene.sent()) == (0, 1, [])
    monkeypatch.undo()
    assert scene.sync().submitted == 1


def _lists() -> dict[str, tuple[list[str] | None, list[str]]]:
    names = {str(p.id): p.name for p in Principal.objects.all()}
    found = {}
    for row in AccessAssignment.objects.filter(valid_to__isnull=True, document__isnull=False).select_related("document"):
        allow = None if row.allow is None else sorted(names[str(one)] for one in row.allow)
        found[row.document.external_id] = (allow, sorted(names[str(one)] for one in row.deny))
    return found


def test_lists_of_the_source_and_of_its_items_are_put_in_force(scene: Scene) -> None:
    scene.configuration = scene.configure(allow=["staff"], deny=["guests"])
    scene.place.put("a.pdf", b"one")
    scene.place.put("b.pdf", b"two", ItemAccess(("board",), ("bob",)))
    scene.sync()
    scene.work()
    assert _lists() == {"drive/a.pdf": (["staff"], ["guests"]), "drive/b.pdf": (["board"], ["bob", "guests"])}
    scene.place.access["b.pdf"] = ItemAccess((), ())
    outcome = scene.sync()
    assert (outcome.submitted, outcome.access_changed) == (0, 1)
    scene.work()
    assert _lists()["drive/b.pdf"] == ([], ["guests"])
    assert Job.objects.count() == 2
    scene.configuration = scene.configure()
    assert scene.sync().access_changed == 2
    scene.work()
    assert _lists()["drive/b.pdf"] == ([], []) and "drive/a.pdf" not in _lists()
    assert scene.sync().events == []


def test_a_crash_between_handing_in_and_remembering_doubles_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.pdf", "b.pdf"):
        scene.place.put(name, name.encode())
    remember = module._remember
    broken = ["b.pdf"]

    def break_once(claim: object, item: object, **fields: object) -> None:
        if item.external_id in broken:
            raise KeyboardInterrupt
        remember(claim, item, **fields)

    monkeypatch.setattr(module, "_remember", break_once)
    with pytest.raises(KeyboardInterrupt):
        scene.sync()
    assert scene.sent() == [("document.updated", "drive/a.pdf")]  # the event of b went with the row that would remember it
    scene.configuration.refresh_from_db()
    assert (scene.configuration.last_outcome, scene.configuration.lease_until) == ("broke", None)
    broken.clear()
    assert scene.sync().submitted == 1
    scene.work()
    assert Document.objects.count() == Job.objects.count() == 2


def test_one_sync_at_a_time_and_a_lost_lease_writes_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.place.put("a.pdf", b"one")
    other: list[SyncOutcome] = []
    fetch = module._fetch

    def meanwhile(claim: object, *rest: object) -> object:
        blob = fetch(claim, *rest)
        if not other:
            other.append(scene.sync())  # the lease holds it off
            SourceConfiguration.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
            monkeypatch.setattr(module, "_fetch", fetch)
            other.append(scene.sync())  # the lease ran out: this one takes over
        return blob

    monkeypatch.setattr(module, "_fetch", meanwhile)
    outcome = scene.sync()
    assert (other[0].state, other[1].state, other[1].submitted) == ("busy", "complete", 1)
    assert (outcome.state, outcome.submitted, len(scene.sent())) == ("busy", 0, 1)


def test_told_to_stop_it_stops_between_documents_and_goes_on_next_time(scene: Scene) -> None:
    scene.place.put("a.pdf", b"one")
    scene.place.put("b.pdf", b"two")
    answers = iter([False, True])
    assert scene.sync(stop=lambda: next(answers)).state == "partial"
    assert scene.sync().submitted == 1


def test_a_document_that_a_person_withdrew_stays_away_until_its_source_changes_it(scene: Scene) -> None:
    scene.place.put("a.pdf", b"one")
    scene.sync()
    scene.work()
    document_withdraw(actor="test", document=Document.objects.get())
    scene.work()
    assert scene.sync().events == [] and scene.live() == {}
    scene.configuration = scene.configure(allow=["staff"])
    assert scene.sync().access_changed == 1  # a list brings nothing back to life
    scene.work()
    assert Document.objects.get().deleted_at is not None
    scene.place.put("a.pdf", b"three")
    scene.sync()
    scene.work()
    assert scene.live() == {"drive/a.pdf": 5}


def test_two_sources_of_one_corpus_do_not_touch_each_others_documents(scene: Scene) -> None:
    MemoryConnector.places["there"] = MemoryPlace()
    second = source_configure(actor="test", corpus=scene.bench.corpus(), name="share", kind="memory", options={"place": "there"})
    for place in MemoryConnector.places.values():
        place.put("a.pdf", b"one")
    scene.sync()
    source_sync(configuration=second)
    scene.place.remove("a.pdf")
    scene.sync()
    scene.work()
    assert scene.live() == {"share/a.pdf": 3}


def test_the_watcher_asks_what_is_due_and_nothing_else(scene: Scene) -> None:
    scene.place.put("a.pdf", b"one")
    assert (watch_once(), watch_once()) == (1, 0)
    scene.place.put("a.pdf", b"two")
    assert watch_once() == 0  # its turn has not come
    SourceConfiguration.objects.update(next_due_at=timezone.now())
    assert watch_once() == 1


def test_a_source_that_cannot_be_asked_does_not_keep_others_waiting(scene: Scene) -> None:
    scene.place.put("a.pdf", b"one")
    broken = source_configure(actor="test", corpus=scene.bench.corpus(), name="broken", kind="folder", options={"root": "/not/there"})
    SourceConfiguration.objects.filter(id=broken.id).update(next_due_at=timezone.now() - timedelta(days=1))
    assert watch_once() == 1
    broken.refresh_from_db()
    assert broken.last_outcome == "source_unreachable"


def test_removing_a_source_with_its_documents(scene: Scene) -> None:
    scene.place.put("a.pdf", b"one")
    scene.sync()
    scene.work()
    assert source_remove(actor="test", source=scene.configuration.source, withdraw=True) == 1
    scene.work()
    assert scene.live() == {} and not SourceConfiguration.objects.exists()


def test_secrets_come_from_variables_of_their_own_name_only(scene: Scene, settings: LazySettings) -> None:
    given = {"bucket": "b", "endpoint_url": "http://127.0.0.1:9"}
    named = {"access_key": "DOCMEMO_SOURCE_SECRET_KEY", "secret_key": "DATABASE_URL"}
    settings.SOURCE_SECRETS = {"DOCMEMO_SOURCE_SECRET_KEY": "x"}
    with pytest.raises(Misconfigured, match="DATABASE_URL"):
        source_configure(actor="test", corpus=scene.bench.corpus(), name="s3", kind="object_store", options=given, secrets=named)
    assert not SourceConfiguration.objects.filter(source__name="s3").exists()


NAMES = st.sampled_from(["a.pdf", "b.pdf", "c.pdf"])
STEPS = st.lists(
    st.tuples(st.just("put"), NAMES, st.sampled_from([b"1", b"22", b"333"]))
    | st.tuples(st.just("remove"), NAMES)
    | st.tuples(st.just("away"), st.booleans())
    | st.tuples(st.just("shows"), st.sampled_from([None, 0, 1]))
    | st.tuples(st.just("unready"), st.sets(NAMES))
    | st.tuples(st.just("sync"))
    | st.tuples(st.just("work")),
    max_size=25,
)


@hypothesis_settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_whatever_happens_the_index_ends_at_what_the_source_holds(scene: Scene, steps: list[tuple]) -> None:
    """The oracle is the place itself. In between: nothing is deleted that the place still holds."""
    empty_tables()
    scene.bench.cast = make_cast()
    scene.__init__(scene.bench)
    place = scene.place
    for step in steps:
        if step[0] == "put":
            place.put(*step[1:])
        elif step[0] == "remove":
            place.contents.pop(step[1], None)
        elif step[0] in ("away", "shows", "unready"):
            setattr(place, *step)
        elif step[0] == "work":
            scene.work()
        else:
            before = len(scene.sent())
            scene.sync()
            gone = {name.removeprefix("drive/") for kind, name in scene.sent()[before:] if kind == "document.deleted"}
            assert not gone & set(place.contents)
    place.away, place.shows, place.unready = False, None, set()
    scene.sync()
    assert scene.sync().events == []
    scene.work()
    assert scene.live() == {f"drive/{name}": len(content) for name, content in place.contents.items()}
