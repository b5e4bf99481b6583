from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from pi.coding.session.errors import NoMatchingSession, SessionInUse, SessionProblem
from pi.coding.session.log import SessionLog
from pi.coding.session.lookup import SavedSessions
from tests.coding.session.saved import THERE, keep, location
from tests.coding.session.sessions import user


def closed(log: SessionLog | None) -> Path | None:
    """Close a session; returns its file."""
    assert log is not None
    log.close()
    return log.file


def yes(question: str) -> bool:
    return True


def no(question: str) -> bool:
    return False


def test_a_session_is_opened_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    file = keep(location(tmp_path), "x", id="abc")
    sessions = SavedSessions(tmp_path, location(tmp_path))

    assert closed(sessions.named("ab", no)) == file
    with pytest.raises(NoMatchingSession):
        sessions.named("zz", yes)


def test_a_session_of_another_project_is_copied_only_on_request(tmp_path: Path) -> None:
    file = keep(location(tmp_path, THERE), "x", id="abc")
    sessions = SavedSessions(tmp_path, location(tmp_path))

    assert sessions.named("abc", no) is None
    copy = closed(sessions.named("abc", yes))
    assert copy is not None and copy.parent == location(tmp_path).directory != file.parent


def test_a_fork_leaves_the_original_as_it_is(tmp_path: Path) -> None:
    file = keep(location(tmp_path), "x", id="abc")
    before = file.read_bytes()

    copy = closed(SavedSessions(tmp_path, location(tmp_path)).forked("abc"))

    assert copy != file and file.read_bytes() == before


def test_an_unused_id_creates_a_new_session(tmp_path: Path) -> None:
    reported: list[str] = []
    log = SavedSessions(tmp_path, location(tmp_path)).by_id("mine", reported.append)
    log.close()

    assert log.header.id == "mine"
    assert reported == [
        "Warning: No project session found with id 'mine'; creating a new session with that id."
    ]


def test_an_invalid_id_is_rejected_without_a_report(tmp_path: Path) -> None:
    with pytest.raises(SessionProblem, match="Invalid session id"):
        SavedSessions(tmp_path, location(tmp_path)).by_id("a/../b", pytest.fail)


def test_the_last_session_is_continued(tmp_path: Path) -> None:
    keep(location(tmp_path, seconds=1), "x", id="first")
    last = keep(location(tmp_path, seconds=2), "x", id="second")

    assert closed(SavedSessions(tmp_path, location(tmp_path)).last(None)) == last


def test_a_session_id_can_be_created_by_one_process_at_a_time(tmp_path: Path) -> None:
    first = SavedSessions(tmp_path, location(tmp_path)).by_id("mine", print)
    with pytest.raises(SessionInUse):
        SavedSessions(tmp_path, location(tmp_path)).by_id("mine", print)
    first.append(user("hello"))
    with pytest.raises(SessionInUse):  # now by its file
        SavedSessions(tmp_path, location(tmp_path)).by_id("mine", print)
    first.close()

    again = SavedSessions(tmp_path, location(tmp_path)).by_id("mine", print)

    assert closed(again) == first.file
    assert first.file is not None
    assert list(first.file.parent.iterdir()) == [first.file]


def test_a_fork_has_the_requested_id_unless_it_is_taken(tmp_path: Path) -> None:
    file = keep(location(tmp_path), "x", id="abc")
    sessions = SavedSessions(tmp_path, location(tmp_path))

    copy = sessions.forked("abc", id="mine")
    copy.close()
    with pytest.raises(SessionProblem) as error:
        sessions.forked("abc", id="abc")

    assert copy.header.id == "mine"
    assert error.value.message == f"The session id 'abc' already exists: {file}"
    with closing(sessions.by_id("abc", print)) as reopened:  # no lock is left behind
        assert reopened.file == file
