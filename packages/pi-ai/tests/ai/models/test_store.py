from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from pi.ai.models.model import Model
from pi.ai.models.store import ModelsStore, models_from

MODEL = Model(
    id="balanced",
    name="Balanced",
    api="pi-messages",
    provider="radius",
    base_url="https://radius.example/v1",
    context_window=5000,
)


def test_written_models_are_read_back_and_other_providers_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "agent" / "models-store.json"
    path.parent.mkdir()
    path.write_text('{"other": {"models": [], "etag": "x"}, "radius": {"etag": "old"}}')
    store = ModelsStore(path)

    store.write("radius", (MODEL,), checked_at=1790000000000)

    entries = json.loads(path.read_text())
    assert store.read("radius") == (MODEL,)
    assert entries["other"] == {"models": [], "etag": "x"}
    assert (entries["radius"]["etag"], entries["radius"]["checkedAt"]) == ("old", 1790000000000)


def test_the_file_is_readable_only_by_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "agent" / "models-store.json"

    ModelsStore(path).write("radius", (), checked_at=0)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"radius": 7}', '{"radius": {"models": {}}}', '{"radius": {"models": [{}]}}'],
)
def test_an_invalid_file_reads_as_empty_and_can_be_overwritten(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "models-store.json"
    path.write_text(content)
    store = ModelsStore(path)

    assert store.read("radius") == ()
    store.write("radius", (MODEL,), checked_at=1)
    assert store.read("radius") == (MODEL,)


def test_an_unwritable_path_raises_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = ModelsStore(tmp_path / "file" / "models-store.json")

    store.write("radius", (MODEL,), checked_at=1)

    assert store.read("radius") == ()


def test_invalid_model_entries_are_skipped() -> None:
    entries: list[Any] = [{"id": "a"}, {"id": "odd", "cost": "?"}, {}, 7, None]

    assert models_from(entries, api="pi-messages", provider="radius") == (
        Model(id="a", name="a", api="pi-messages", provider="radius"),
    )
    assert models_from({"id": "a"}) == ()
