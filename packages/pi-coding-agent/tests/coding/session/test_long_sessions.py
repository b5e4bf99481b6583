"""A session that was opened without the entries before its context is like one read in full."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi.ai.messages import SystemMessage, Tool
from pi.base.clock import IdFactory
from pi.base.records import replace
from pi.coding.session.context import build_session_context
from pi.coding.session.counts import EntryCounts
from pi.coding.session.display import count_displayed, display_transcript
from pi.coding.session.entries import (
    Compaction,
    Custom,
    Label,
    MessageEntry,
    SessionInfo,
    ThinkingLevelChange,
)
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import (
    SessionLocation,
    _store_index,
    new_session,
    open_session,
    read_session,
)
from pi.coding.session.tool_selection import recorded_tools
from pi.coding.session.views import tree_json
from tests.coding.session.random_sessions import Append, Move, drafts, numbers, play, steps
from tests.coding.session.sessions import Counted, answer, append_all, ids, make_location, user

HELLO = "hello"


def full(folder: Path) -> SessionLocation:
    return make_location(folder)


def indexed(folder: Path) -> SessionLocation:
    location = make_location(folder)
    return replace(location, indexes=folder / "indexes", min_indexed=0, read_entries=1)


class Starts:
    """Random bytes that begin with another number, so that ids are new."""

    def __init__(self, first: int) -> None:
        self._counted = Counted()
        self._first = first

    def __call__(self, size: int) -> bytes:
        return (int.from_bytes(self._counted(size), "big") + self._first).to_bytes(size, "big")


def customs(log: SessionLog) -> dict[str, list[str]]:
    return {kind: [entry.id for entry in log.customs(kind)] for kind in sorted(log.custom_types())}


def described(log: SessionLog) -> dict[str, Any]:
    """Everything that a session shows of its file."""
    context = msgspec.to_builtins(build_session_context(log))
    transcript = display_transcript(log, 5)
    return {
        "context": context,
        "labels": list(log.labels.items()),
        "name": log.name,
        "types": sorted(log.custom_types()),
        "customs": customs(log),
        "displayed": count_displayed(log, log.leaf),
        "transcript": (transcript.items, transcript.earlier, transcript.end),
        "totals": EntryCounts(log).update(),
        "leaf": (log.leaf, log.leaf_id),
        "length": len(log.tree),
        "tools": recorded_tools(log),
        "prompts": [log.latest_prompts(most) for most in (1, 5, 1000)],
        # Reads the earlier entries.
        "tree": tree_json(log),
        "path": log.tree.path(log.leaf),
        "entries": list(log.entries()),
        "again": msgspec.to_builtins(build_session_context(log)),
        "counted": EntryCounts(log).update(),
        "ids": ids(log),
    }


def opened(path: Path, location: SessionLocation) -> dict[str, Any]:
    log = open_session(path, location)
    try:
        return described(log)
    finally:
        log.close()


def check(path: Path) -> None:
    """Open the file in full and with an index that is new, and one that exists."""
    expected = opened(path, full(path.parent))
    for _ in range(3):
        assert opened(path, indexed(path.parent)) == expected


def long_session(folder: Path, count: int = 60, *, kept: int = 4) -> Path:
    """A file with a compaction that kept the last entries."""
    log = new_session(full(folder))
    log.append(ThinkingLevelChange(thinking_level="high"))
    tools = tuple(Tool(name=name, description="", parameters={}) for name in ("one", "two"))
    log.append(MessageEntry(message=SystemMessage(content="", tools_added=tools)))
    log.append(SessionInfo(name="first name"))
    for number in range(count):
        append_all(log, user(f"question {number}"), answer(f"answer {number}"))
        log.append(Custom(custom_type="note", data=number))
    log.append(Label(target_id=ids(log)[3], label="early"))
    log.append(Compaction(summary="S", first_kept_id=ids(log)[-kept], tokens_before=9))
    append_all(log, user("after"), answer("it"))
    log.close()
    assert log.file is not None
    return log.file


def test_only_the_end_of_a_compacted_session_is_read(tmp_path: Path) -> None:
    path = long_session(tmp_path)
    open_session(path, indexed(tmp_path)).close()

    log = open_session(path, indexed(tmp_path))

    assert log.tree.first > 150
    build_session_context(log)
    assert (log.name, set(log.labels)) == ("first name", {ids(log)[3]})
    log.close()


def test_what_the_start_needs_does_not_read_the_earlier_entries(tmp_path: Path) -> None:
    path = long_session(tmp_path)
    open_session(path, indexed(tmp_path)).close()
    log = open_session(path, indexed(tmp_path))

    context = build_session_context(log)
    counted = count_displayed(log, log.leaf)
    totals = EntryCounts(log).update()
    tools = recorded_tools(log)
    notes = [custom.data for custom in log.customs("note")]
    appended = log.append(user("new"))
    log.close()

    assert log.tree.first > 150, "the earlier entries were read"
    assert context.thinking_level == "high"
    assert tools == ("one", "two")
    assert counted == 60 * 2 + 3
    assert totals.messages == {"system": 1, "user": 61, "assistant": 61}
    assert notes == list(reversed(range(60)))
    assert len(appended.id) == 8


def test_a_session_goes_on_and_is_opened_again(tmp_path: Path) -> None:
    path = long_session(tmp_path)
    open_session(path, indexed(tmp_path)).close()
    for number in range(4):
        log = open_session(path, replace(indexed(tmp_path), stamps=_stamps(number)))
        append_all(log, user("more"), answer("more"), SessionInfo(name=f"name {number}"))
        log.append(Compaction(summary="S", first_kept_id=log.leaf_id or "", tokens_before=9))
        append_all(log, user("after"), answer("it"))
        log.close()
        check(path)


def _stamps(number: int) -> Any:
    stamps = make_location(None).stamps
    return type(stamps)(clock=stamps.clock, random_bytes=Starts(1_000_000 * (number + 1)))


def test_a_new_id_is_not_that_of_an_earlier_entry(tmp_path: Path) -> None:
    path = long_session(tmp_path)
    open_session(path, indexed(tmp_path)).close()
    used = {json.loads(line).get("id") for line in path.read_bytes().splitlines()}

    # The same random numbers as when the file was made.
    log = open_session(path, indexed(tmp_path))
    new = log.append(user("new"))
    log.close()

    assert new.id not in used
    assert len(new.id) == 8


def _line(id: str, parent: str | None, **fields: Any) -> bytes:
    entry = {"type": "message", "id": id, "parentId": parent, "timestamp": "", **fields}
    entry.setdefault("message", {"role": "user", "content": HELLO, "timestamp": 0})
    return json.dumps(entry).encode() + b"\n"


def _ids(content: bytes) -> list[str]:
    found = []
    for line in content.splitlines()[1:]:
        try:
            found.append(json.loads(line)["id"])
        except (ValueError, KeyError, TypeError):
            continue
    return found


def _middle(content: bytes) -> str:
    known = _ids(content)
    return known[len(known) // 3] if known else "none"


def _last(content: bytes) -> str:
    return (_ids(content) or ["none"])[-1]


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "appended by another program": lambda c: c + _line("aaaa0001", _last(c)),
    "appended to an earlier entry": lambda c: c + _line("aaaa0002", _middle(c)),
    "a new root": lambda c: c + _line("aaaa0003", None),
    "a missing parent": lambda c: c + _line("aaaa0004", "gone"),
    "the missing parent": lambda c: c + _line("gone", None),
    "the id of an earlier entry": lambda c: c + _line(_middle(c), _last(c)),
    "a cycle": lambda c: c + _line("aaaa0005", "aaaa0006") + _line("aaaa0006", "aaaa0005"),
    "its own parent": lambda c: c + _line("aaaa0007", "aaaa0007"),
    "an id of another program": lambda c: c + _line("x" * 36, _last(c)),
    "a torn end": lambda c: c + _line("aaaa0008", _last(c))[:50],
    "no line end": lambda c: c.removesuffix(b"\n"),
    "two entries in a line": lambda c: c.removesuffix(b"\n") + _line("aaaa0009", _last(c)),
    "no entry": lambda c: c + b"[1]\nnot JSON\n",
    "CRLF": lambda c: c.replace(b"\n", b"\r\n"),
    "a kept entry that is missing": lambda c: (
        c
        + _line(
            "aaaa000a",
            _last(c),
            type="compaction",
            summary="s",
            firstKeptEntryId="nowhere",
            tokensBefore=1,
        )
    ),
    "a kept entry of long ago": lambda c: (
        c
        + _line(
            "aaaa000b",
            _last(c),
            type="compaction",
            summary="s",
            firstKeptEntryId=_middle(c),
            tokensBefore=1,
        )
    ),
    "an edit of an early entry": lambda c: (
        c + _line("aaaa000c", _last(c), type="context_edit", targetId=_middle(c), replacement=None)
    ),
    "a label of an early entry": lambda c: (
        c + _line("aaaa000d", _last(c), type="label", targetId=_middle(c), label="late")
    ),
    "truncated": lambda c: c[: len(c) // 2],
    "its first half twice": lambda c: c + c[len(c) // 4 : len(c) // 2],
    "another text of the same length": lambda c: c.replace(b"question", b"Question"),
    "without a compaction": lambda c: b"".join(
        line for line in c.splitlines(keepends=True) if b'"compaction"' not in line
    ),
    "of version 1": lambda c: c.replace(b'"version":3,', b"", 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_of_other_programs_are_noticed(tmp_path: Path, change: str) -> None:
    path = long_session(tmp_path)
    check(path)

    path.write_bytes(CHANGES[change](path.read_bytes()))
    check(path)


def test_a_replaced_file_is_noticed(tmp_path: Path) -> None:
    path, other = long_session(tmp_path), long_session(tmp_path / "other", 40, kept=2)
    check(path)

    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    other.replace(path)
    check(path)


@pytest.mark.parametrize("garbage", [b"", b"garbage", b"\xff" * 5000])
def test_a_damaged_index_is_written_again(tmp_path: Path, garbage: bytes) -> None:
    path = long_session(tmp_path)
    check(path)
    (index,) = (tmp_path / "indexes").iterdir()
    data = index.read_bytes()

    for damaged in (garbage, data[:-1], data[:20] + b"!" + data[21:], data + b"1"):
        index.write_bytes(damaged)
        check(path)
        assert index.read_bytes() == data


def test_an_index_that_cannot_be_written_is_not_needed(tmp_path: Path) -> None:
    path = long_session(tmp_path)
    (tmp_path / "indexes").write_text("a file")

    check(path)


def test_a_file_that_is_removed_before_its_index_is_written_is_no_error(tmp_path: Path) -> None:
    content = read_session(long_session(tmp_path), IdFactory())
    log = SessionLog(content, IdFactory())
    lines, gone = content.lines, tmp_path / "gone.jsonl"

    assert not _store_index(log, content, lines, lines, gone, indexed(tmp_path))


def test_an_index_is_private(tmp_path: Path) -> None:
    path = long_session(tmp_path)
    check(path)

    (index,) = (tmp_path / "indexes").iterdir()

    assert index.stat().st_mode & 0o777 == 0o600
    assert index.parent.stat().st_mode & 0o777 == 0o700


def test_the_earlier_entries_of_a_removed_file_can_still_be_read(tmp_path: Path) -> None:
    path = long_session(tmp_path)
    open_session(path, indexed(tmp_path)).close()
    log = open_session(path, indexed(tmp_path))

    path.unlink()

    assert len(list(log.entries())) == len(log.tree)
    log.close()


compactions = st.builds(
    Append,
    draft=st.builds(
        Compaction, summary=st.text(max_size=3), first_kept_id=st.just(""), tokens_before=numbers
    ),
    target=numbers,
)
answers = st.builds(Append, draft=st.builds(answer, st.text(max_size=3)), target=numbers)
linear = st.builds(Append, draft=drafts, target=numbers)
stories = st.lists(
    st.one_of(linear, linear, linear, answers, compactions, steps), min_size=3, max_size=40
)
changes = st.lists(st.sampled_from(sorted(CHANGES)), max_size=3)


def _write(story: Sequence[Append | Move], folder: Path, seed: int) -> Path:
    log = new_session(replace(full(folder), stamps=_stamps(seed)))
    log.append(user("first"))
    for step in story:
        play(log, step)
    log.close()
    assert log.file is not None
    return log.file


@given(story=stories, more=stories, changed=changes, seed=st.integers(0, 1000))
@settings(deadline=None)
def test_a_random_session_is_the_same_with_and_without_an_index(
    tmp_path_factory: pytest.TempPathFactory,
    story: list[Append | Move],
    more: list[Append | Move],
    changed: list[str],
    seed: int,
) -> None:
    folder = tmp_path_factory.mktemp("random")
    path = _write(story, folder, seed)
    check(path)
    log = open_session(path, replace(indexed(folder), stamps=_stamps(seed + 1)))
    for step in more[: random.Random(seed).randrange(len(more) + 1)]:
        play(log, step)
    log.close()
    check(path)
    for change in changed:
        path.write_bytes(CHANGES[change](path.read_bytes()))
        check(path)


def test_the_last_prompts_are_known_without_the_earlier_entries(tmp_path: Path) -> None:
    path = long_session(tmp_path)
    open_session(path, indexed(tmp_path)).close()
    log = open_session(path, indexed(tmp_path))

    prompts = log.latest_prompts(20)

    log.close()
    assert log.tree.first
    assert prompts[-1].message == user("after").message
    assert [entry.id for entry in prompts] == [entry.id for entry in log.latest_prompts(1000)[-20:]]
