from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.messages import AssistantMessage, Cost, Usage
from pi.base.files import FileAccessError
from pi.coding.session.entries import Compaction, MessageEntry, UnknownEntry
from pi.coding.session.errors import NotASession
from pi.coding.session.log import decode_entry
from pi.coding.session.reading import (
    LongLine,
    Outline,
    SessionFile,
    lines_of,
    parse_session,
    read_file,
    read_outline,
)
from tests.coding.session.sessions import GOLDEN, make_stamps

HEADER = b'{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/c"}\n'
HELLO = b'{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"hi"}}\n'
PATH = Path("/somewhere/s.jsonl")


def parsed(data: bytes) -> SessionFile:
    return parse_session(io.BytesIO(data).readlines(), PATH, make_stamps().entry_id)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes with names are POSIX")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(NotASession):
        read_file(tmp_path / "pipe")


@pytest.mark.behaviour("foreign-file-is-not-overwritten")
@pytest.mark.parametrize(
    "data", [b"\n", b"hello\n", b"[]\n", b'{"type":"session"}\n', HELLO, HELLO + HEADER, b"\xff"]
)
def test_a_file_that_does_not_begin_with_a_header_is_refused(data: bytes) -> None:
    with pytest.raises(NotASession) as refused:
        parsed(data)

    assert str(refused.value) == "Session file is not a valid pi session: /somewhere/s.jsonl"


@pytest.mark.behaviour("foreign-file-is-not-overwritten")
def test_lines_that_are_not_entries_are_skipped() -> None:
    bad = b'not json\n\n[1]\n{"type":"message"}\n{"id":"x"}\n{"type":"x","id":""}\n'

    session_file = parsed(b"junk\n" + HEADER + bad + HEADER + HELLO + b'{"torn')

    assert (session_file.lines, session_file.outlines) == (
        [HELLO],
        [Outline(type="message", id="a")],
    )


@pytest.mark.parametrize("between", [b"", b"x", b'{"type":"message","id":"torn", "mess'])
def test_an_entry_that_was_written_into_another_line_is_found(between: bytes) -> None:
    second = HELLO.replace(b'"a"', b'"b"')
    complete = len(between) < 2

    session_file = parsed(HEADER + (HELLO.rstrip() if complete else b"") + between + second)

    assert [outline.id for outline in session_file.outlines] == (["a", "b"] if complete else ["b"])
    assert session_file.lines[-1] == second


@pytest.mark.behaviour("records-split-on-lf")
def test_only_lf_ends_a_line(tmp_path: Path) -> None:
    odd = HELLO.replace(b"hi", "a\u2028b\u2029c\x85d".encode()).replace(b"}\n", b"}\r\x0b\x0c\n")
    path = tmp_path / "odd.jsonl"
    path.write_bytes(HEADER + HELLO.replace(b"hi", "a\u2028b\u2029c\x85d".encode()) + odd)

    assert len(read_file(path)) == 3


@pytest.mark.parametrize("end", [b"\n", b""])
def test_only_the_ends_of_a_line_over_the_limit_are_read(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "s.jsonl"
    size, limit = 700_000, 600_000
    short, fits, last = b"a\n", b"b" * limit + b"\n", b"e" * size + end
    path.write_bytes(short + fits[1:] + b"c" * size + b"d\n" + short + last)

    with path.open("rb") as file:
        first, second, long, fourth, fifth = lines_of(file, limit)

    assert [first, second, fourth] == [short, fits[1:], short]
    assert isinstance(long, LongLine) and isinstance(fifth, LongLine)
    assert (long.head, long.tail, long.size) == (b"c" * 4096, b"c" * 4094 + b"d\n", size + 2)
    assert (fifth.size, fifth.tail[-2:]) == (len(last), last[-2:])


def test_a_missing_file_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert read_file(tmp_path / "none") == read_file(tmp_path / "file/none") == []


def test_a_directory_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(FileAccessError, match="Cannot read"):
        read_file(tmp_path)


def test_invalid_header_fields_fall_back_to_defaults() -> None:
    odd = b'{"type":"session","version":"x","id":"s","timestamp":5,"cwd":null,"more":1}\n'

    header = parsed(odd).header

    assert (header.version, header.id, header.timestamp, header.cwd) == (3, "s", "", "")


def test_a_newer_version_is_not_migrated() -> None:
    session_file = parsed(HEADER.replace(b"3", b"99") + HELLO)

    assert (session_file.header.version, session_file.migrated, session_file.lines) == (
        99,
        None,
        [HELLO],
    )


@pytest.mark.parametrize(
    ("text", "read"),
    [(rb"a\ud800b", "a\ufffdb"), (b"a\xffb", "a\ufffdb"), (rb"\ud83d\ude00", "😀")],
)
def test_invalid_characters_in_a_message_are_replaced(text: bytes, read: str) -> None:
    line = HELLO.replace(b"hi", text)
    outline = read_outline(line)
    assert outline is not None

    entry = decode_entry(line, outline)

    assert isinstance(entry, MessageEntry)
    assert msgspec.to_builtins(entry.message)["content"] == read


@pytest.mark.parametrize("id", [b'"\\ud800"', b'"\xff"'])
def test_invalid_characters_in_an_id_are_replaced(id: bytes) -> None:
    assert read_outline(HELLO.replace(b'"a"', id)) == Outline(type="message", id="\ufffd")


def test_null_fields_count_as_absent() -> None:
    line = json.dumps(
        {
            "type": "message",
            "id": "a",
            "parentId": None,
            "timestamp": "t",
            "message": {
                "role": "assistant",
                "content": [{"type": "text", "text": "x"}],
                "errorMessage": None,
                "usage": {"input": 5.0, "output": None, "cost": {"input": None, "total": 1}},
                "timestamp": 7.0,
            },
        }
    ).encode()
    outline = read_outline(line)
    assert outline is not None

    entry = decode_entry(line, outline)

    assert isinstance(entry, MessageEntry)
    assert isinstance(entry.message, AssistantMessage)
    assert entry.message.usage == Usage(input=5, cost=Cost(total=1))


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "future"},
        {"message": {"role": "future"}},
        {"message": {"role": "system", "content": "", "toolsRemoved": [{}]}},
        {"message": 5},
        {"timestamp": {}},
    ],
)
def test_an_entry_of_unknown_kind_or_shape_is_kept_as_it_is(changes: dict[str, object]) -> None:
    data = json.loads(HELLO) | changes
    line = json.dumps(data).encode()
    outline = read_outline(line)
    assert outline is not None

    entry = decode_entry(line, outline)

    assert entry == UnknownEntry(data=data, id="a", parent_id=None)


def test_an_extremely_nested_line_does_not_stop_reading() -> None:
    deep = HELLO.replace(b'"hi"', b"[" * 100_000 + b"]" * 100_000)

    assert parsed(HEADER + deep + HELLO).lines[-1:] == [HELLO]


SAMPLE = (GOLDEN / "sessions/tree-branches-labels.jsonl").read_bytes().split(b"\n")


@given(st.sampled_from(SAMPLE[1:-1]), st.data())
def test_a_damaged_line_is_skipped_or_can_be_decoded(line: bytes, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(line) - 1))
    byte = data.draw(st.integers(0, 255))
    damaged = line[:offset] + bytes([byte]) + line[offset + 1 :]

    outline = read_outline(damaged)

    if outline is not None:
        assert decode_entry(damaged, outline).id == outline.id


@pytest.mark.parametrize("role", ["user", "assistant", "toolResult", "custom", "system"])
def test_a_message_whose_content_is_null_is_a_message_without_content(role: str) -> None:
    needed = {"toolCallId": "c", "toolName": "read", "customType": "x"}
    data = {"type": "message", "id": "a", "message": {"role": role, "content": None, **needed}}
    entry = decode_entry(json.dumps(data).encode(), Outline(type="message", id="a"))

    assert isinstance(entry, MessageEntry)
    assert msgspec.to_builtins(entry.message)["content"] in ((), [])


def test_a_compaction_whose_content_is_null_shows_its_summary() -> None:
    data = {"type": "compaction", "id": "a", "summary": "s", "content": None}
    line = json.dumps(data | {"firstKeptEntryId": "x", "tokensBefore": 1}).encode()
    entry = decode_entry(line, Outline(type="compaction", id="a"))

    assert isinstance(entry, Compaction)
    assert entry.content is msgspec.UNSET
