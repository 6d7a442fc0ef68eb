"""The contract of the blob store."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingestion.seams.blobs import BlobMissing, Blobs
from ingestion.seams.blobs.filesystem import FilesystemBlobs


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return FilesystemBlobs(tmp_path / "blobs")


def test_what_was_put_is_there(blobs: Blobs, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"from a file")
    assert blobs.put("o/a", b"bytes") == 5
    assert blobs.put("o/b", source) == 11
    assert blobs.open("o/a").read() == b"bytes"
    with blobs.local_path("o/b") as path:
        assert path.read_bytes() == b"from a file"
    assert sorted(blobs.keys("o/")) == ["o/a", "o/b"]


def test_the_same_key_again_changes_nothing(blobs: Blobs) -> None:
    blobs.put("k", b"first")
    blobs.put("k", b"second")
    assert blobs.open("k").read() == b"first"


def test_what_is_absent_is_said_to_be(blobs: Blobs) -> None:
    assert not blobs.exists("none")
    with pytest.raises(BlobMissing):
        blobs.open("none")
    with pytest.raises(BlobMissing), blobs.local_path("none"):
        pass
    blobs.delete("none")


def test_deletion(blobs: Blobs) -> None:
    blobs.put("k", b"x")
    blobs.delete("k")
    assert not blobs.exists("k") and list(blobs.keys()) == []


@pytest.mark.parametrize("key", ["../out", "/etc/passwd", "a/../../out", "", ".", "a/../.."])
def test_no_key_leaves_the_store(blobs: Blobs, key: str) -> None:
    with pytest.raises(ValueError, match="leaves"):
        blobs.put(key, b"x")


def test_a_write_that_breaks_leaves_nothing(blobs: Blobs, tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        blobs.put("k", tmp_path)
    assert not blobs.exists("k") and list(blobs.keys()) == []
