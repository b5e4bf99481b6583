from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pi.base.json_lines import encode_line
from pi.coding.blobs.store import (
    PREFIX,
    THRESHOLD,
    BlobOptions,
    BlobStore,
    externalised,
    externalised_compaction,
    rehydrated,
)
from pi.coding.settings.settings import Settings

BYTES = bytes(range(256)) * 3
LARGE = base64.b64encode(BYTES).decode()
DATA_URL = f"data:image/png;base64,{LARGE}"


def picture(data: str = LARGE, kind: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "data": data, "mimeType": kind}


def message_line(*content: object) -> bytes:
    message = {"role": "user", "content": content, "timestamp": 1}
    return encode_line({"type": "message", "id": "1", "parentId": None, "message": message})


def content(line: bytes) -> Any:
    return json.loads(line)["message"]["content"]


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "blobs")


def test_images_stay_in_session_files_unless_externalize_images_is_set() -> None:
    assert BlobOptions() == BlobOptions(externalize_images=False)
    settings = Settings.in_memory({"blobs": {"externalizeImages": True}})
    assert settings.section(("blobs",), BlobOptions) == BlobOptions(externalize_images=True)


def test_a_large_image_is_replaced_by_a_reference_and_restored(store: BlobStore) -> None:
    line = message_line({"type": "text", "text": "see"}, picture())

    stored = externalised(line, store)

    blob = store.put(BYTES, extension="png")
    assert content(stored) == [{"type": "text", "text": "see"}, picture(blob.ref)]
    assert blob.path.read_bytes() == BYTES
    assert blob.display_path.exists()
    assert rehydrated(stored, store, set()) == line


def test_a_data_url_of_a_provider_is_stored_as_text(store: BlobStore) -> None:
    line = encode_line({"type": "custom", "data": [{"type": "input_image", "image_url": DATA_URL}]})

    stored = externalised(line, store)

    ref = json.loads(stored)["data"][0]["image_url"]
    assert ref == store.put(DATA_URL.encode()).ref
    assert rehydrated(stored, store, set()) == line


@pytest.mark.parametrize(
    "block",
    [
        picture("A" * (THRESHOLD - 4)),
        picture("not base64!" * 200),
        picture(LARGE.rstrip("=") + "\n" + "A" * 3),
        picture(PREFIX + "0" * 2000),
        {"type": "text", "text": f"an image: {DATA_URL}"},
        {"type": "x", "image_url": "https://example.com/" + "x" * 2000},
        {"type": "x", "image_url": "data:image/png," + "x" * 2000},
        {"type": "x", "image_url": {"url": "x" * 2000}},
    ],
)
def test_small_and_invalid_images_are_not_externalised(
    store: BlobStore, block: dict[str, object]
) -> None:
    line = message_line(block)

    assert externalised(line, store) is line


@pytest.mark.parametrize(
    "line", [b"", b"image" * 999, b'{"image":' + b"[" * 9999, message_line("image")]
)
def test_a_line_without_images_is_returned_unchanged(store: BlobStore, line: bytes) -> None:
    assert externalised(line, store) is line
    assert rehydrated(line, store, set()) is line
    assert not store.directory.exists()


def test_a_missing_blob_is_logged_and_its_reference_is_kept(
    store: BlobStore, caplog: pytest.LogCaptureFixture
) -> None:
    other = base64.b64encode(BYTES[::-1]).decode()
    stored = externalised(message_line(picture(), picture(other)), store)
    lost = store.put(BYTES)
    lost.path.unlink()

    missing: set[str] = set()
    assert content(rehydrated(stored, store, missing)) == [picture(lost.ref), picture(other)]
    assert missing == {lost.ref}
    assert f"a picture of the session is missing: {lost.ref}" in caplog.text


def test_images_stay_in_the_line_when_the_store_cannot_be_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    line = message_line(picture())

    assert externalised(line, BlobStore(tmp_path / "file")) is line
    assert "pictures stay in the session file" in caplog.text


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["content", "image_url", "a", "type"]), inner, max_size=3)
        | st.builds(picture, st.sampled_from([LARGE, "AAAA", DATA_URL]))
        | st.just({"image_url": DATA_URL})
    ),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values)
def test_externalised_lines_are_restored_exactly(store: BlobStore, value: object) -> None:
    line = encode_line({"type": "custom", "data": value})

    assert rehydrated(externalised(line, store), store, set()) == line


def test_only_compactions_are_externalised_without_the_setting(store: BlobStore) -> None:
    """The original pi does not read the images of a compaction."""
    entry = {"type": "compaction", "id": "2", "summary": "s", "content": [picture()]}
    line, message = (
        encode_line(entry),
        message_line(picture(), {"type": "text", "text": '"compaction"'}),
    )

    stored = externalised_compaction(line, store)

    assert json.loads(stored)["content"] == [picture(store.put(BYTES).ref)]
    assert rehydrated(stored, store, set()) == line
    assert externalised_compaction(message, store) == message
    assert externalised_compaction(b'{"compaction" image', store) == b'{"compaction" image'
