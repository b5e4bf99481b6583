from __future__ import annotations

import hashlib
import os
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.base.errors import PiError
from pi.base.files import FileAccessError, replace_files
from pi.coding.blobs.store import PREFIX, Blob, BlobStore

DATA = b"\x89PNG picture"
HASH = hashlib.sha256(DATA).hexdigest()


def test_bytes_are_stored_once_under_their_hash_and_are_private(tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "blobs")

    blob = store.put(DATA)

    path = tmp_path / "blobs" / HASH
    assert blob == Blob(hash=HASH, path=path, display_path=path)
    assert blob.ref == f"blob:sha256:{HASH}"
    assert store.get(blob.ref) == store.get(HASH) == DATA
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    before = path.stat()
    assert store.put(DATA) == blob
    assert path.stat() == before


def test_a_blob_has_a_display_path_with_its_extension(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)

    blob = store.put(DATA, extension="png")

    assert blob.display_path == tmp_path / f"{HASH}.png"
    assert blob.display_path.samefile(blob.path)
    assert store.put(DATA, extension="png") == blob
    assert store.put(DATA, extension="../x").display_path == blob.path


@pytest.mark.parametrize("ref", [PREFIX + "0" * 64, PREFIX + "../x", "", PREFIX, HASH.upper()])
def test_an_unknown_or_invalid_reference_returns_none(tmp_path: Path, ref: str) -> None:
    assert BlobStore(tmp_path).get(ref) is None


def test_a_damaged_blob_is_logged_and_not_returned(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = BlobStore(tmp_path)
    store.put(DATA).path.write_bytes(b"other")

    assert store.get(HASH) is None
    assert "is damaged" in caplog.text


def test_a_blob_that_cannot_be_written_raises_a_file_access_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(FileAccessError):
        BlobStore(tmp_path / "file").put(DATA)


@given(st.binary(max_size=100))
def test_stored_bytes_are_returned_unchanged(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    store = BlobStore(tmp_path_factory.mktemp("blobs"))

    assert store.get(store.put(data).ref) == data


def test_many_contents_are_stored_at_once(tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "blobs")
    contents = [b"%d" % number for number in range(50)]
    store.put(b"7")

    blobs = store.put_many([*contents, b"7"])

    assert [store.get(blob.ref) for blob in blobs] == [*contents, b"7"]
    assert len(list(store.directory.iterdir())) == 50
    assert {stat.S_IMODE(path.stat().st_mode) for path in store.directory.iterdir()} == {0o600}
    assert store.put_many(()) == []


def test_many_contents_cost_one_flush(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", flushed.append)
    store = BlobStore(tmp_path)

    store.put_many(b"%d" % number for number in range(50))

    assert len(flushed) == (1 if sys.platform == "linux" else 51)  # the folder


def test_a_failure_leaves_no_half_written_blob(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    (tmp_path / HASH).mkdir()  # a blob cannot replace it

    with pytest.raises(FileAccessError, match="Cannot write"):
        replace_files({tmp_path / "a": b"1", tmp_path / HASH: b"2"})

    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".tmp")] == []
    assert store.get(PREFIX + "0" * 64) is None


@pytest.mark.behaviour("blobs-in-use-are-kept")
def test_a_counted_blob_is_removed_with_its_last_owner(tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "blobs")
    one, two = store.owned_by("session one"), store.owned_by("../two")
    for_good = store.put(b"for good")

    both = one.put(b"both")
    mine, also = one.put_many([b"mine", b"for good"])
    two.put(b"both")

    assert store.owners() == sorted(["session one", "../two"], key=lambda name: owner_file(name))
    assert set(one.refs()) == {both.ref, mine.ref, also.ref}
    assert one.release([mine.ref]) == 1
    assert (store.get(mine.ref), store.get(both.ref)) == (None, b"both")
    assert one.release() == 1  # the counted copy of what is stored for good
    assert (store.get(both.ref), store.get(for_good.ref)) == (b"both", b"for good")
    assert (store.owned_by("../two").release(), store.owners()) == (1, [])
    assert store.get(both.ref) is None
    assert store.owned_by("nothing yet").release() == 0


@pytest.mark.behaviour("blobs-in-use-are-kept")
def test_nothing_is_removed_while_an_owner_cannot_be_read(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    store.owned_by("a").put(b"1")
    blob = store.owned_by("b").put(b"2")
    (tmp_path / "counted" / "owners" / owner_file("b")).write_bytes(b"{")

    with pytest.raises(PiError, match="is damaged"):
        store.owned_by("a").release()

    assert store.get(blob.ref) == b"2"


def owner_file(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:32]
