from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.messages import Image, SystemMessage, UserMessage
from pi.coding.session.entries import MessageEntry, SessionInfo
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import new_session
from pi.coding.session.reading import read_object
from pi.coding.session.summaries import (
    FIRST_MESSAGE,
    SessionSummary,
    read_summary,
    summary_of_lines,
)
from pi.coding.session.summaries import read_header as header_of
from tests.coding.session.random_sessions import Step, play, stories
from tests.coding.session.saved import HERE, keep, location
from tests.coding.session.sessions import SESSIONS, answer, append_all, make_location, user

HEADER = {"type": "session", "id": "one", "timestamp": "2026-11-15T19:23:06.927Z", "cwd": "/x"}
STARTED = 1794770586927


def facts(*entries: object) -> SessionSummary:
    return summary_of_lines(HEADER, [json.dumps(entry).encode() + b"\n" for entry in entries])


def test_a_summary_has_the_id_and_the_first_message(tmp_path: Path) -> None:
    log = new_session(location(tmp_path), id="abc", parent="/other.jsonl")
    append_all(
        log,
        MessageEntry(message=SystemMessage(content="You are pi.")),
        user("first\nquestion"),
        answer("an answer"),
        user("second"),
        SessionInfo(name="old"),
        SessionInfo(name="new"),
    )
    log.close()
    assert log.file is not None

    assert read_summary(log.file) == SessionSummary(
        id="abc",
        cwd=HERE,
        created_ms=1_700_000_000_000,
        parent="/other.jsonl",
        name="new",
        first_message="first question",
        message_count=3,
        last_message_ms=1_700_000_000_000,
    )


def test_a_name_can_be_removed() -> None:
    named = {"type": "session_info", "id": "1", "parentId": None, "name": "x"}

    assert facts(named).name == "x"
    assert facts(named, {"type": "session_info", "id": "2"}).name is None


def test_the_first_message_is_truncated_and_sanitised() -> None:
    message = {"role": "user", "content": "\x1b]0;title\x07a\n\tb" + "x" * 10_000}
    first_message = facts({"type": "message", "id": "1", "message": message}).first_message

    assert first_message.startswith("a bxx")
    assert len(first_message) == FIRST_MESSAGE


def test_a_message_with_only_images_has_no_text() -> None:
    log = new_session(make_location(None))
    log.append(MessageEntry(message=UserMessage(content=(Image(data="", mime_type="image/png"),))))

    summary = summary_of_lines(HEADER, [log.line(0)])

    assert (summary.first_message, summary.message_count) == ("", 1)


def test_the_time_of_a_session_is_that_of_its_last_message_or_its_creation() -> None:
    later = {"type": "message", "id": "1", "timestamp": "2026-11-15T19:23:07.927Z"}
    earlier = later | {"timestamp": "2020-01-01T00:00:00.000Z"}
    message = {"message": {"role": "user", "content": "x"}}
    no_time = {"type": "message", "id": "1", "timestamp": "yesterday", **message}

    assert facts(later | message).active_ms == STARTED + 1000
    assert facts(earlier | message).active_ms == STARTED
    assert facts(no_time).active_ms == STARTED


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"not json\n",
        b'{"type":"message"}\n',
        b'{"type":"session"}\n',
        b"[1]\n",
        b"\xff",
    ],
)
def test_a_file_without_a_header_is_not_a_session(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)

    assert read_summary(path) is None
    assert header_of(path) is None


def test_lines_of_an_unusual_form_are_read_and_broken_ones_are_not(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    message = {"message": {"content": "hello", "role": "user"}, "id": "1", "type": "message"}
    path.write_text(f'garbage\n{json.dumps(HEADER)}\n{json.dumps(message, indent=None)}\n{{"ty')

    summary = read_summary(path)

    assert summary is not None
    assert (summary.first_message, summary.message_count) == ("hello", 1)


def slowly(log: SessionLog) -> tuple[int, str | None]:
    """The number of messages and the name, by decoding every line."""
    messages = [read_object(log.line(position)) or {} for position in range(len(log.tree))]
    entries = [entry for entry in messages if entry["type"] == "message"]
    return sum(entry["message"]["role"] != "system" for entry in entries), log.name


@given(stories)
def test_messages_are_counted_correctly_by_the_start_of_their_lines(story: list[Step]) -> None:
    log = new_session(make_location(None))
    for step in story:
        play(log, step)

    summary = summary_of_lines(HEADER, map(log.line, range(len(log.tree))))

    assert (summary.message_count, summary.name) == slowly(log)


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_recorded_sessions_have_a_summary(path: Path) -> None:
    summary = read_summary(path)

    assert summary is not None
    assert summary.message_count > 0
    assert summary.first_message


@given(st.binary(max_size=200))
def test_any_bytes_can_be_summarised(junk: bytes) -> None:
    summary_of_lines(HEADER, junk.splitlines(keepends=True))


def test_the_header_of_a_session_file_is_read(tmp_path: Path) -> None:
    path = keep(location(tmp_path), "hello", id="abc")

    assert (header_of(path) or {})["id"] == "abc"
