from __future__ import annotations

import random
from pathlib import Path

import pytest

from pi.coding.session.context import build_session_context
from pi.coding.session.entries import Compaction, Custom, Label, SessionInfo
from pi.coding.session.errors import NotASession
from pi.coding.session.opening import new_session, open_session
from tests.coding.session.crash import crash
from tests.coding.session.sessions import (
    Reports,
    answer,
    append_all,
    ids,
    make_location,
    result,
    user,
)
from tests.sampling import sampled


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    """A file of many kinds of lines."""
    log = new_session(make_location(tmp_path / "sample"))
    for number in range(8):
        first, *_ = append_all(
            log,
            user(f"question {number} ü €"),
            answer("calls", f"call_{number}"),
            result(f"call_{number}", '{"type":"message","id":"no"}\n' * 3),
            Custom(custom_type="x", data={"type": "message", "id": "neither"}),
        )
        append_all(log, Label(target_id=first, label="l"), SessionInfo(name=f"name {number}"))
    append_all(log, Compaction(summary="S", first_kept_id=first, tokens_before=1), user("last"))
    log.close()
    assert log.file is not None
    return log.file.read_bytes()


def line_ids(content: bytes, reports: Reports, tmp_path: Path) -> list[str]:
    """The ids of the entries of a file, after reading and adding to it."""
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(content)
    log = open_session(path, make_location(tmp_path, reports))
    build_session_context(log)
    entry_ids = list(ids(log))
    new = log.append(user("goes on"))
    log.close()
    again = open_session(path, make_location(tmp_path, reports))
    again.close()
    assert ids(again) == [*entry_ids, new.id]
    assert path.read_bytes().startswith(content)
    return entry_ids


@pytest.mark.behaviour("torn-last-line-is-repaired")
def test_a_truncated_file_keeps_all_complete_lines(content: bytes, tmp_path: Path) -> None:
    reports = Reports()
    every = line_ids(content, reports, tmp_path)

    for cut in range(1, 201):
        complete = content[:-cut].count(b"\n") - 1
        remaining_ids = line_ids(content[:-cut], reports, tmp_path)
        assert remaining_ids[:complete] == every[:complete]
        assert len(remaining_ids) <= complete + 1

    assert reports == []


@pytest.mark.behaviour("foreign-file-is-not-overwritten")
@pytest.mark.slow
@pytest.mark.parametrize("count", sampled((100, 1000), 1))
def test_a_damaged_byte_loses_only_its_own_line(content: bytes, tmp_path: Path, count: int) -> None:
    chance = random.Random(5)
    reports = Reports()
    every = line_ids(content, reports, tmp_path)
    line_ends = [offset for offset, byte in enumerate(content) if byte == 10]
    offsets = [*line_ends[:-1], *(chance.randrange(len(content)) for _ in range(count))]

    for offset in offsets:
        byte = chance.randrange(256)
        damaged = content[:offset] + bytes([byte]) + content[offset + 1 :]
        hit = content[:offset].count(b"\n") - 1
        try:
            remaining_ids = line_ids(damaged, reports, tmp_path)
        except NotASession:
            assert hit == -1
            continue
        assert set(every[:hit] + every[hit + 1 :] if hit >= 0 else every) <= set(remaining_ids)

    assert reports == []


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.behaviour("torn-last-line-is-repaired", "entries-keep-causal-order")
@pytest.mark.parametrize("kills", sampled((5, 100), 1))
def test_a_killed_process_has_stored_all_reported_entries(tmp_path: Path, kills: int) -> None:
    assert crash(kills=kills, seed=7, folder=tmp_path) > kills
