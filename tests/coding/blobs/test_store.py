from __future__ import annotations

import hashlib
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.base.files import FileAccessError
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


def test_a_picture_has_a_second_name_with_its_type(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)

    blob = store.put(DATA, extension="png")

    assert blob.display_path == tmp_path / f"{HASH}.png"
    assert blob.display_path.samefile(blob.path)
    assert store.put(DATA, extension="png") == blob
    assert store.put(DATA, extension="../x").display_path == blob.path


@pytest.mark.parametrize("ref", [PREFIX + "0" * 64, PREFIX + "../x", "", PREFIX, HASH.upper()])
def test_what_is_not_there_is_none(tmp_path: Path, ref: str) -> None:
    assert BlobStore(tmp_path).get(ref) is None


def test_a_blob_that_was_changed_is_as_good_as_gone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = BlobStore(tmp_path)
    store.put(DATA).path.write_bytes(b"other")

    assert store.get(HASH) is None
    assert "is damaged" in caplog.text


def test_where_nothing_can_be_stored_that_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(FileAccessError):
        BlobStore(tmp_path / "file").put(DATA)


@given(st.binary(max_size=100))
def test_all_bytes_come_back(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    store = BlobStore(tmp_path_factory.mktemp("blobs"))

    assert store.get(store.put(data).ref) == data
