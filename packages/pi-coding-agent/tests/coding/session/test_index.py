from __future__ import annotations

import stat
from pathlib import Path

import pytest

from pi.coding.session.catalog_index import FILE_NAME, IndexRow, load_index, save_index
from pi.coding.session.summaries import SessionSummary

FACTS = SessionSummary(
    id="a",
    cwd="/x",
    created_ms=1,
    parent=None,
    name=None,
    first_message="hello",
    message_count=1,
    last_message_ms=2,
)
ROWS = {
    "/s/a.jsonl": IndexRow(size=1, modified_ns=2, facts=FACTS),
    "/s/no.jsonl": IndexRow(size=3, modified_ns=4, facts=None),
}


def test_a_saved_index_is_private_and_loaded_unchanged(tmp_path: Path) -> None:
    save_index(tmp_path, ROWS)

    assert load_index(tmp_path) == ROWS
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


DEEP = pytest.param(b'{"a":' * 100_000, id="nested too deeply")


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff", b"[]", b'{"version":0,"rows":{}}', DEEP])
def test_a_damaged_index_or_one_of_another_version_is_empty(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(damage)

    assert load_index(tmp_path) == {}


def test_an_index_that_cannot_be_written_is_skipped(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()

    save_index(tmp_path, ROWS)

    assert load_index(tmp_path) == {}


def test_an_index_with_a_path_that_is_not_text_is_not_saved(tmp_path: Path) -> None:
    save_index(tmp_path, {"/s/\udcff.jsonl": ROWS["/s/a.jsonl"]})

    assert load_index(tmp_path) == {}
