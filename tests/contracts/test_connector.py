"""The contract of a connector, on the fake and on both adapters.

The bucket is moto's server, an imitation of S3 that runs in this process: it answers as S3 does, it is not S3.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import boto3
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from moto.server import ThreadedMotoServer

from ingestion.domain.ids import new_id
from ingestion.seams.connector import (
    Connector,
    Item,
    ItemChanged,
    ItemGone,
    Misconfigured,
    Unreachable,
    connector_for,
)
from ingestion.seams.connector.folder import FolderConnector
from ingestion.seams.connector.memory import MemoryConnector
from ingestion.seams.connector.object_store import ObjectStoreConnector

KEYS = {"access_key": "key", "secret_key": "secret"}


class Place(Protocol):
    """A source of each kind, from behind: what a test does to it."""

    connector: Connector

    def put(self, external_id: str, content: bytes) -> None: ...

    def remove(self, external_id: str) -> None: ...

    def take_away(self) -> None:
        """From now on the place does not answer."""


class MemoryPlaceUnderTest:
    def __init__(self) -> None:
        name = str(new_id())
        self.connector = MemoryConnector({"place": name}, {})
        self.put, self.remove = self.connector.place.put, self.connector.place.remove

    def take_away(self) -> None:
        self.connector.place.away = True


class FolderPlace:
    def __init__(self, root: Path) -> None:
        self.root = root / str(new_id())
        self.root.mkdir()
        # far ahead, so that every file counts as settled
        self.connector = FolderConnector({"root": str(self.root)}, {}, clock=lambda: 2.0**40)

    def put(self, external_id: str, content: bytes) -> None:
        path = self.root / external_id
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_bytes(content)
        os.replace(fresh, path)

    def remove(self, external_id: str) -> None:
        (self.root / external_id).unlink()

    def take_away(self) -> None:
        self.root.rename(self.root.with_name("elsewhere"))


class BucketPlace:
    def __init__(self, endpoint: str) -> None:
        self.name = f"b{new_id().hex}"
        options = {"bucket": self.name, "prefix": "manuals", "endpoint_url": endpoint, "region": "us-east-1", "addressing_style": "path"}
        self.client = boto3.client(
            "s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="key", aws_secret_access_key="secret"
        )
        self.client.create_bucket(Bucket=self.name)
        self.connector = ObjectStoreConnector(options, KEYS)

    def put(self, external_id: str, content: bytes) -> None:
        self.client.put_object(Bucket=self.name, Key=f"manuals/{external_id}", Body=content)

    def remove(self, external_id: str) -> None:
        self.client.delete_object(Bucket=self.name, Key=f"manuals/{external_id}")

    def take_away(self) -> None:
        for found in self.client.list_objects_v2(Bucket=self.name).get("Contents", []):
            self.client.delete_object(Bucket=self.name, Key=found["Key"])
        self.client.delete_bucket(Bucket=self.name)


@pytest.fixture(scope="session")
def s3_imitation() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(params=["memory", "folder", "object_store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "memory":
        return MemoryPlaceUnderTest()
    if request.param == "folder":
        return FolderPlace(tmp_path)
    return BucketPlace(request.getfixturevalue("s3_imitation"))


def _read(place: Place, item: Item) -> bytes:
    with place.connector.open(item) as stream:
        return stream.read()


def _ids(place: Place) -> list[str]:
    return [item.external_id for item in place.connector.listing().items]


def test_what_is_there_is_listed_and_read(place: Place) -> None:
    place.put("a.pdf", b"first")
    place.put("deep/er/ä b.pdf", b"the second")
    listing = place.connector.listing()
    assert listing.complete and not listing.unready
    told = {item.external_id: (item.bytes, item.file_name, _read(place, item)) for item in listing.items}
    assert told == {"a.pdf": (5, "a.pdf", b"first"), "deep/er/ä b.pdf": (10, "ä b.pdf", b"the second")}


def test_an_empty_place_is_completely_listed(place: Place) -> None:
    assert place.connector.listing() == place.connector.listing()
    assert place.connector.listing().items == () and place.connector.listing().complete


def test_the_same_listing_twice_is_the_same(place: Place) -> None:
    place.put("a.pdf", b"first")
    place.put("b.pdf", b"second")
    assert place.connector.listing() == place.connector.listing()


def test_other_bytes_have_another_fingerprint(place: Place) -> None:
    place.put("a.pdf", b"first")
    before = place.connector.listing().items[0]
    place.put("a.pdf", b"other")
    after = place.connector.listing().items[0]
    assert (before.external_id, before.bytes) == (after.external_id, after.bytes)
    assert before.fingerprint != after.fingerprint


def test_what_was_removed_is_not_listed_any_more(place: Place) -> None:
    place.put("a.pdf", b"first")
    place.put("b.pdf", b"second")
    place.remove("a.pdf")
    assert _ids(place) == ["b.pdf"]


def test_a_place_that_is_away_is_not_an_empty_one(place: Place) -> None:
    place.put("a.pdf", b"first")
    item = place.connector.listing().items[0]
    place.take_away()
    with pytest.raises(Unreachable):
        place.connector.listing()
    with pytest.raises((Unreachable, ItemGone)):
        _read(place, item)


def test_what_is_gone_or_changed_since_the_listing_is_not_handed_over(place: Place) -> None:
    place.put("a.pdf", b"first")
    place.put("b.pdf", b"second")
    first, second = place.connector.listing().items
    place.remove("a.pdf")
    place.put("b.pdf", b"change")
    with pytest.raises(ItemGone):
        _read(place, first)
    with pytest.raises(ItemChanged):
        _read(place, second)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from(["a.pdf", "b.pdf", "c/d.pdf"]), st.none() | st.binary(max_size=20)), max_size=12))
def test_after_any_steps_the_listing_is_what_is_there(place: Place, steps: list[tuple[str, bytes | None]]) -> None:
    for external_id in _ids(place):
        place.remove(external_id)
    there: dict[str, bytes] = {}
    for external_id, content in steps:
        if content is not None:
            place.put(external_id, content)
            there[external_id] = content
        elif there.pop(external_id, None) is not None:
            place.remove(external_id)
    assert {item.external_id: _read(place, item) for item in place.connector.listing().items} == there


# --- what only a folder can be --------------------------------------------------------------------------


def test_a_file_still_being_written_is_left_until_it_settles(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"half")
    changed = (tmp_path / "a.pdf").stat().st_ctime
    now = [changed + 1]
    connector = FolderConnector({"root": str(tmp_path), "settle_seconds": 5}, {}, clock=lambda: now[0])
    listing = connector.listing()
    assert (listing.items, listing.unready, listing.complete) == ((), {"a.pdf"}, True)
    now[0] = changed + 6
    assert [item.external_id for item in connector.listing().items] == ["a.pdf"]


def test_a_file_that_grows_while_it_is_read_is_not_handed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"half")
    connector = FolderConnector({"root": str(tmp_path)}, {}, clock=lambda: 2.0**40)
    item = connector.listing().items[0]
    with pytest.raises(ItemChanged), connector.open(item) as stream:
        stream.read()
        with path.open("ab") as more:
            more.write(b" and the rest")


def test_links_lead_nowhere(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    root.mkdir()
    (outside / "secret.pdf").write_bytes(b"secret")
    (root / "link.pdf").symlink_to(outside / "secret.pdf")
    (root / "folder").symlink_to(outside)
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "pipe.pdf")
    connector = FolderConnector({"root": str(root)}, {}, clock=lambda: 2.0**40)
    assert connector.listing().items == ()
    for path in ("link.pdf", "folder/secret.pdf", "../outside/secret.pdf", "/etc/passwd", "pipe.pdf"):
        with pytest.raises((ItemGone, ItemChanged)), connector.open(Item(path, "", 0, "x")):
            pass


@pytest.mark.parametrize("swapped", ["sub", "sub/a.pdf"])
def test_what_was_swapped_for_a_link_after_the_listing_is_not_followed(tmp_path: Path, swapped: str) -> None:
    (tmp_path / "root" / "sub").mkdir(parents=True)
    (tmp_path / "root" / "sub" / "a.pdf").write_bytes(b"mine")
    connector = FolderConnector({"root": str(tmp_path / "root")}, {}, clock=lambda: 2.0**40)
    item = connector.listing().items[0]
    (tmp_path / "root" / swapped).rename(tmp_path / "moved")
    (tmp_path / "root" / swapped).symlink_to(tmp_path / "moved")
    with pytest.raises((ItemGone, ItemChanged)), connector.open(item):
        pass


def test_a_folder_without_its_marker_is_not_mounted(tmp_path: Path) -> None:
    connector = FolderConnector({"root": str(tmp_path), "marker": ".mounted"}, {})
    with pytest.raises(Unreachable, match="marker"):
        connector.listing()
    (tmp_path / ".mounted").touch()
    assert connector.listing().complete


@pytest.mark.parametrize("bounds", [{"max_files": 2}, {"max_depth": 1}])
def test_a_listing_that_met_a_bound_is_not_complete(tmp_path: Path, bounds: dict[str, int]) -> None:
    for name in ("a.pdf", "b/c.pdf", "b/d/e.pdf"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    listing = FolderConnector({"root": str(tmp_path), **bounds}, {}, clock=lambda: 2.0**40).listing()
    assert (len(listing.items), listing.complete, bool(listing.reason)) == (2, False, True)


def test_hidden_files_and_files_of_other_names_are_no_documents(tmp_path: Path) -> None:
    for name in (".hidden.pdf", "~$lock.pdf", "a.PDF", "notes.txt", "a.pdf.part"):
        (tmp_path / name).touch()
    assert [i.external_id for i in FolderConnector({"root": str(tmp_path)}, {}, clock=lambda: 2.0**40).listing().items] == ["a.PDF"]


# --- what only a bucket can be --------------------------------------------------------------------------


def test_objects_outside_the_prefix_and_odd_keys_are_left_out(s3_imitation: str) -> None:
    place = BucketPlace(s3_imitation)
    for key in ("other/a.pdf", "manuals2/b.pdf", "manuals/", "manuals/c//d.pdf", "manuals/e/../f.pdf", "manuals/g.txt", "manuals/h.pdf"):
        place.client.put_object(Bucket=place.name, Key=key, Body=b"x")
    assert _ids(place) == ["h.pdf"]


def test_a_bucket_with_more_than_its_bound_is_not_completely_listed(s3_imitation: str) -> None:
    place = BucketPlace(s3_imitation)
    place.connector.max_objects = 2
    for name in ("a.pdf", "b.pdf"):
        place.put(name, b"x")
    assert place.connector.listing().complete
    place.put("c.pdf", b"x")
    listing = place.connector.listing()
    assert (len(listing.items), listing.complete) == (2, False)


def test_a_store_that_nobody_answers_at_is_unreachable() -> None:
    options = {"bucket": "b", "endpoint_url": "http://127.0.0.1:9", "region": "us-east-1"}
    with pytest.raises(Unreachable) as told:
        ObjectStoreConnector(options, KEYS).listing()
    assert "secret" not in str(told.value)


# --- options -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options", "secrets"),
    [
        ("nothing", {}, {}),
        ("folder", {}, {}),
        ("folder", {"root": "relative"}, {}),
        ("folder", {"root": "/x", "rot": 1}, {}),
        ("folder", {"root": "/x", "patterns": "*.pdf"}, {}),
        ("folder", {"root": "/x", "max_files": True}, {}),
        ("object_store", {}, {}),
        ("object_store", {"bucket": "b"}, {"access_key": "only"}),
        ("object_store", {"bucket": "b"}, {"password": "x"}),
        ("object_store", {"bucket": "b", "addressing_style": "odd"}, {}),
    ],
)
def test_wrong_options_are_said_at_once(kind: str, options: dict[str, Any], secrets: dict[str, str]) -> None:
    with pytest.raises(Misconfigured):
        connector_for(kind, options, secrets)
