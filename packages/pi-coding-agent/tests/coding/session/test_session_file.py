from __future__ import annotations

import base64
import os
import stat
import sys
from pathlib import Path

import pytest

from pi.ai.messages import AssistantMessage, Image, Text, Thinking, UserMessage
from pi.coding.session.entries import MessageEntry, ModelChange, SessionInfo
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import new_session, open_session
from pi.coding.session.writing import SessionWriter
from tests.coding.session.sessions import (
    Reports,
    answer,
    append_all,
    ids,
    make_location,
    on_disk,
    user,
)
from tests.files import full_disk

posix = pytest.mark.skipif(sys.platform == "win32", reason="limits and devices of POSIX")


def saved(tmp_path: Path, reports: Reports) -> tuple[SessionLog, Path]:
    """A session with a file."""
    log = new_session(make_location(tmp_path, reports))
    append_all(log, user("1"), answer("2"))
    assert log.file is not None
    return log, log.file


def test_the_file_is_created_with_the_first_entry_worth_keeping(tmp_path: Path) -> None:
    folder = tmp_path / "sessions/--proj--"
    log = new_session(make_location(folder))
    assert log.file is not None
    append_all(log, ModelChange(provider="p", model_id="m"))
    assert not folder.exists()

    append_all(log, SessionInfo(name="mine"))

    assert [line["type"] for line in on_disk(log.file)] == [
        "session",
        "model_change",
        "session_info",
    ]
    assert log.is_saved


@posix
def test_session_files_are_private(tmp_path: Path) -> None:
    _, path = saved(tmp_path / "sessions", Reports())

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.behaviour("torn-last-line-is-repaired")
@pytest.mark.parametrize("torn", [b'{"type":"message","id":"x', b"\xff", b'{"type":"x","id":"t"}'])
def test_a_torn_last_line_is_ended_before_the_next_is_written(torn: bytes, tmp_path: Path) -> None:
    log, path = saved(tmp_path, Reports())
    log.close()
    before = path.read_bytes()
    path.write_bytes(before + torn)

    log = open_session(path, make_location(tmp_path))
    leaf = log.leaf_id
    new = log.append(user("3"))
    log.close()

    assert path.read_bytes().startswith(before + torn + b"\n")
    again = open_session(path, make_location(tmp_path))
    assert ids(again)[-2:] == [leaf, new.id]
    assert list(again.entries()) == list(log.entries())


def test_a_line_that_another_program_tore_meanwhile_is_ended_too(tmp_path: Path) -> None:
    log, path = saved(tmp_path, Reports())
    with path.open("ab") as file:
        file.write(b"{half")

    new = log.append(user("3"))

    assert path.read_bytes().split(b"\n")[-3] == b"{half"
    assert on_disk(path)[-1]["id"] == new.id


@posix
@pytest.mark.behaviour("failed-writes-are-reported")
def test_a_full_disk_is_reported_once_and_the_session_continues_in_memory(tmp_path: Path) -> None:
    reports = Reports()
    log, path = saved(tmp_path, reports)

    with full_disk(path.stat().st_size + 10):
        append_all(log, user("3"), user("4"))

    assert (
        reports
        == [log.problem]
        == [
            f"The session is no longer saved, it continues in memory: cannot write {path}: "
            "File too large."
        ]
    )
    assert len(list(log.entries())) == 4
    assert len(on_disk(path)) == 3
    assert path.read_bytes().endswith(b"}\n"), "and nothing of what did not fit"


@posix
@pytest.mark.behaviour("failed-writes-are-reported")
def test_unsaved_entries_are_written_once_a_full_disk_has_room(tmp_path: Path) -> None:
    reports = Reports()
    log, path = saved(tmp_path, reports)
    with full_disk(path.stat().st_size + 10):
        append_all(log, user("3"), answer("4"))

    append_all(log, user("5"))

    assert (reports[1:], log.problem) == (["The session is saved again."], None)
    log.close()
    again = open_session(path, make_location(tmp_path))
    assert list(again.entries()) == list(log.entries())
    assert len(on_disk(path)) == 6


@posix
@pytest.mark.behaviour("failed-writes-are-reported")
def test_a_file_that_could_not_be_created_is_retried_with_the_next_entry(
    tmp_path: Path,
) -> None:
    log = new_session(make_location(tmp_path / "sessions"))
    with full_disk(10):
        append_all(log, user("1"))

    append_all(log, ModelChange(provider="p", model_id="m"))

    assert log.file is not None
    assert (log.problem, len(on_disk(log.file))) == (None, 3)


@posix
@pytest.mark.behaviour("failed-writes-are-reported")
def test_closing_a_session_retries_to_save_it(tmp_path: Path) -> None:
    log = new_session(make_location(tmp_path / "sessions"))
    with full_disk(10):
        append_all(log, user("1"), answer("2"))
    assert log.file is not None
    assert not log.file.exists()

    log.close()

    assert log.is_saved
    assert len(on_disk(log.file)) == 3


@posix
@pytest.mark.behaviour("failed-writes-are-reported")
def test_a_disk_that_is_full_from_the_start_is_reported(tmp_path: Path) -> None:
    reports = Reports()
    log = new_session(make_location(tmp_path, reports))

    with full_disk(10):
        append_all(log, user("1"), user("2"))

    assert reports == [log.problem]
    assert (log.is_saved, len(list(log.entries()))) == (False, 2)
    assert list(tmp_path.glob("*.jsonl")) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full of Linux")
def test_a_device_that_accepts_no_data_is_reported() -> None:
    reports = Reports()
    mirror = SessionWriter(Path("/dev/full"), reports)
    mirror.follow()

    mirror.write(b"{}\n", worth_keeping=True)

    assert len(reports) == 1
    assert "/dev/full" in reports[0]


@pytest.mark.behaviour("failed-writes-are-reported")
def test_a_directory_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    reports = Reports()
    (tmp_path / "file").touch()
    log = new_session(make_location(tmp_path / "file/sessions", reports))

    append_all(log, user("1"), user("2"))

    assert len(reports) == 1
    assert len(list(log.entries())) == 2


@pytest.mark.skipif(sys.platform == "win32" or os.getuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written_to_is_reported(tmp_path: Path) -> None:
    reports = Reports()
    tmp_path.chmod(0o500)
    log = new_session(make_location(tmp_path, reports))

    append_all(log, user("1"))

    assert len(reports) == 1


@pytest.mark.behaviour("damaged-session-can-close", "failed-writes-are-reported")
def test_a_file_that_was_removed_is_reported_and_the_session_can_be_closed(tmp_path: Path) -> None:
    reports = Reports()
    log, path = saved(tmp_path, reports)
    path.unlink()

    append_all(log, user("3"), user("4"))
    log.close()

    assert reports == [
        f"The session is no longer saved, it continues in memory: {path} was removed."
    ]
    assert not path.exists()


@pytest.mark.behaviour("failed-writes-are-reported")
def test_a_file_that_was_replaced_is_reported_and_left_alone(tmp_path: Path) -> None:
    reports = Reports()
    log, path = saved(tmp_path, reports)
    other = tmp_path / "other"
    other.write_text("other\n")
    other.rename(path)

    append_all(log, user("3"))

    assert reports == [
        "The session is no longer saved, it continues in memory: "
        f"{path} was replaced by another program."
    ]
    assert path.read_text() == "other\n"


@pytest.mark.behaviour("foreign-file-is-not-overwritten")
def test_a_file_that_appeared_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    reports = Reports()
    log = open_session(tmp_path / "s.jsonl", make_location(tmp_path, reports))
    (tmp_path / "s.jsonl").write_text("another program's\n")

    append_all(log, user("1"))

    assert len(reports) == 1
    assert (tmp_path / "s.jsonl").read_text() == "another program's\n"


@posix
def test_a_session_that_cannot_be_migrated_on_disk_continues_in_memory(tmp_path: Path) -> None:
    reports = Reports()
    path = tmp_path / "old.jsonl"
    old = b'{"type":"session","id":"s","timestamp":"t","cwd":"/"}\n{"type":"x"}\n'
    path.write_bytes(old)

    with full_disk(10):
        log = open_session(path, make_location(tmp_path, reports))

    assert (len(reports), len(log.tree), path.read_bytes()) == (1, 1, old)


@pytest.mark.behaviour("base64-is-never-cut")
def test_pictures_and_signatures_of_any_size_are_stored_whole(tmp_path: Path) -> None:
    data = base64.b64encode(os.urandom(3_000_000)).decode()
    picture = UserMessage(content=(Image(data=data, mime_type="image/png"),))
    thought = AssistantMessage(
        content=(Thinking(thinking="…", thinking_signature=data), Text(text="x" * 2_000_000)),
        api="faux",
        provider="faux",
        model="faux",
    )
    log = new_session(make_location(tmp_path))
    for message in (picture, thought):
        log.append(MessageEntry(message=message))
    path = log.file
    log.close()
    assert path is not None

    opened = open_session(path, make_location(tmp_path))

    assert [entry.message for entry in opened.entries() if isinstance(entry, MessageEntry)] == [
        picture,
        thought,
    ]
    opened.close()
