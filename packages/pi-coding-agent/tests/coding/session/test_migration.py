from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from pi.coding.session.entries import Compaction
from pi.coding.session.opening import open_session
from pi.coding.session.reading import migrate, parse_session
from tests.coding.session.sessions import GOLDEN, make_location, make_stamps

FIRST: list[dict[str, Any]] = [
    {"type": "session", "id": "v1id", "timestamp": "t", "cwd": "/c", "provider": "mock"},
    {"type": "message", "timestamp": "t", "message": {"role": "user", "content": "hi"}},
    {"type": "message", "timestamp": "t", "message": {"role": "hookMessage", "content": "x"}},
    {"type": "compaction", "summary": "s", "firstKeptEntryIndex": 2, "tokensBefore": 9},
]


def text(records: list[dict[str, Any]]) -> bytes:
    return b"".join(
        json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records
    )


def numbered() -> Any:
    return make_stamps().entry_id


def test_the_first_version_is_migrated_to_a_chain_with_the_key_order_of_the_original() -> None:
    migrated = migrate(FIRST, numbered())

    assert [list(record) for record in migrated] == [
        ["type", "id", "timestamp", "cwd", "provider", "version"],
        ["type", "timestamp", "message", "id", "parentId"],
        ["type", "timestamp", "message", "id", "parentId"],
        ["type", "summary", "tokensBefore", "id", "parentId", "firstKeptEntryId"],
    ]
    assert [record.get("parentId") for record in migrated[1:]] == [None, "00000001", "00000002"]
    assert migrated[2]["message"]["role"] == "custom"
    assert migrated[3]["firstKeptEntryId"] == "00000002"
    assert migrated[0]["version"] == 3


def test_the_migration_of_a_first_version_file_equals_that_of_the_original() -> None:
    expected = (GOLDEN / "sessions/loaded-v1.jsonl").read_bytes().split(b"\n")[:3]
    before = [json.loads(line) for line in expected]
    ids = iter([record.pop("id") for record in before[1:]])
    for record in before[1:]:
        record.pop("parentId")
    before[0].pop("version")

    session_file = parse_session(
        io.BytesIO(text(before)).readlines(), Path("x"), lambda _: next(ids)
    )

    assert session_file.migrated == b"\n".join(expected) + b"\n"


def test_migrating_the_second_version_changes_only_roles_and_the_version() -> None:
    second: list[dict[str, Any]] = [
        {"type": "session", "version": 2, "id": "s", "timestamp": "t", "cwd": "/"},
        {"type": "message", "id": "a", "parentId": None, "message": {"role": "hookMessage"}},
        {"type": "message", "id": "b", "parentId": "a", "message": {"role": "user"}},
    ]

    assert migrate(second, numbered()) == [
        second[0] | {"version": 3},
        second[1] | {"message": {"role": "custom"}},
        second[2],
    ]


def test_the_current_and_later_versions_are_not_migrated() -> None:
    for version in (3, 99, "three"):
        records = [FIRST[0] | {"version": version}, *FIRST[1:]]
        assert migrate(records, numbered()) == records


def test_a_file_without_a_version_keeps_its_tree() -> None:
    records = [FIRST[0], {"type": "x", "id": "a"}, {"type": "x", "id": "b", "parentId": None}]

    assert migrate(records, numbered())[1:] == records[1:]


def test_the_kept_index_of_a_compaction_is_migrated_to_an_entry_id() -> None:
    for index, first_kept_id in (
        (0, "00000001"),
        (1, "00000001"),
        (77, "00000003"),
        ("x", "00000003"),
    ):
        records = [*FIRST[:3], FIRST[3] | {"firstKeptEntryIndex": index}]
        assert migrate(records, numbered())[3]["firstKeptEntryId"] == first_kept_id


def test_opening_an_old_file_migrates_it_and_keeps_a_backup(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    old = text(FIRST[:2]) + b"not json\n" + text(FIRST[2:])
    path.write_bytes(old)
    (tmp_path / "old.jsonl.bak").write_text("another program's")

    log = open_session(path, make_location(tmp_path))
    log.close()

    again = open_session(path, make_location(tmp_path))
    assert (tmp_path / "old.jsonl.bak").read_text() == "another program's"
    assert (tmp_path / "old.jsonl.bak2").read_bytes() == old
    assert path.read_bytes().split(b"\n")[2] == b"not json"
    assert list(again.entries()) == list(log.entries())
    assert isinstance(list(again.entries())[-1], Compaction)
    assert not (tmp_path / "old.jsonl.bak3").exists()
