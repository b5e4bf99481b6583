from __future__ import annotations

import asyncio
import subprocess
import threading
from base64 import b64encode
from functools import partial
from pathlib import Path

import pytest

from pi.ai.messages import Image, UserMessage
from pi.base.files import FileAccessError
from pi.base.records import replace
from pi.coding.blobs.store import BlobStore
from pi.coding.session.entries import Label, MessageEntry
from pi.coding.session.errors import (
    NotASession,
    SessionInUse,
    SessionNotFound,
    SessionProblem,
)
from pi.coding.session.file_operations import fork_file
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import (
    SessionLocation,
    new_session,
    open_session,
    opened_in_thread,
    read_session,
)
from tests.coding.session.sessions import (
    CWD,
    GOLDEN,
    append_all,
    make_location,
    make_stamps,
    on_disk,
    user,
)
from tests.coding.session.test_locking import hold


def test_a_new_session_is_kept_under_its_time_and_id(tmp_path: Path) -> None:
    log = new_session(make_location(tmp_path), id="my.id", parent="/some/parent.jsonl")
    append_all(log, user("1"))

    assert log.file == tmp_path / "2023-11-14T22-13-20-000Z_my.id.jsonl"
    assert on_disk(log.file)[0] == {
        "type": "session",
        "version": 3,
        "id": "my.id",
        "timestamp": "2023-11-14T22:13:20.000Z",
        "cwd": CWD,
        "parentSession": "/some/parent.jsonl",
    }


def test_an_id_that_cannot_be_a_file_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SessionProblem, match="Invalid session id"):
        new_session(make_location(tmp_path), id="../x")


@pytest.mark.parametrize("exists", [True, False])
def test_an_empty_or_missing_file_is_a_new_session_at_that_path(
    exists: bool, tmp_path: Path
) -> None:
    path = tmp_path / "folder/s.jsonl"
    if exists:
        path.parent.mkdir()
        path.touch()

    log = open_session(path, make_location(tmp_path))
    assert (log.file, log.leaf, log.is_saved) == (path, None, False)
    append_all(log, user("1"))

    assert [line["type"] for line in on_disk(path)] == ["session", "message"]


def test_a_relative_path_is_below_the_working_directory(tmp_path: Path) -> None:
    log = open_session(Path("s.jsonl"), make_location(tmp_path))

    assert log.file == Path(CWD, "s.jsonl")


@pytest.mark.behaviour("foreign-file-is-not-overwritten")
def test_a_file_that_is_not_a_session_is_rejected_and_left_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n")

    with pytest.raises(NotASession) as refused:
        open_session(path, make_location(tmp_path))

    assert str(refused.value) == f"Session file is not a valid pi session: {path}"
    assert path.read_text() == "my notes\n"
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_opening_a_directory_raises(tmp_path: Path) -> None:
    with pytest.raises(FileAccessError):
        open_session(tmp_path, make_location(tmp_path))


def test_a_newer_version_is_appended_to_without_rewriting(tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    line = '{"type":"session","version":99,"id":"s","timestamp":"t","cwd":"/","x":1}\n'
    path.write_text(line)

    append_all(open_session(path, make_location(tmp_path)), user("1"))

    assert path.read_text().startswith(line)
    assert len(on_disk(path)) == 2


def test_a_session_open_in_another_process_is_rejected_and_can_be_forked(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes((GOLDEN / "sessions/cli-fork.jsonl").read_bytes())
    holder: subprocess.Popen[str]

    with hold(path) as holder:
        with pytest.raises(SessionInUse) as refused:
            open_session(path, make_location(tmp_path))
        fork = fork_file(path, make_location(tmp_path / "forks"))
        holder.communicate()

    assert refused.value.pid == holder.pid
    assert fork.file is not None
    assert on_disk(fork.file)[1:] == on_disk(path)[1:]
    open_session(path, make_location(tmp_path)).close()


def test_a_session_that_is_closed_can_be_opened_again(tmp_path: Path) -> None:
    log = new_session(make_location(tmp_path))
    append_all(log, user("1"))
    assert log.file is not None
    with pytest.raises(SessionInUse):
        open_session(log.file, make_location(tmp_path))

    log.close()

    assert list(open_session(log.file, make_location(tmp_path)).entries()) == list(log.entries())


async def test_reports_of_the_opening_thread_are_delivered_on_the_event_loop(
    tmp_path: Path,
) -> None:
    threads: list[tuple[str, int]] = []
    location = replace(
        make_location(tmp_path),
        report=lambda text: threads.append((text, threading.get_ident())),
    )

    def opening(location: SessionLocation) -> SessionLog:
        location.report("from the thread")
        return open_session(tmp_path / "s.jsonl", location)

    (await opened_in_thread(opening, location)).close()

    await asyncio.sleep(0)
    assert threads == [("from the thread", threading.get_ident())]


async def test_the_opening_thread_counts_the_displayed_entries(
    tmp_path: Path,
) -> None:
    log = new_session(make_location(tmp_path))
    append_all(log, user("1"), Label(target_id="x", label="y"), user("2"))
    assert log.file is not None
    log.close()
    opening = partial(open_session, log.file)

    opened = await opened_in_thread(opening, make_location(tmp_path))

    assert list(opened.displayed) == [1, 1, 2]
    opened.close()


async def test_a_session_that_is_opened_after_a_cancellation_is_closed_again(
    tmp_path: Path,
) -> None:
    began, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def opening(location: SessionLocation) -> SessionLog:
        loop.call_soon_threadsafe(began.set)
        go_on.wait(10)
        return open_session(tmp_path / "s.jsonl", location)

    task = asyncio.create_task(opened_in_thread(opening, make_location(tmp_path)))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))

    open_session(tmp_path / "s.jsonl", make_location(tmp_path)).close()  # it is not in use


def test_reading_alone_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    path.write_bytes(b'{"type":"session","id":"s","timestamp":"t","cwd":"/"}\n{"type":"x"}\n')
    before = path.read_bytes()

    session_file = read_session(path, make_stamps())

    assert (session_file.header.version, len(session_file.lines)) == (3, 1)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["old.jsonl"]


@pytest.mark.behaviour("import-never-overwrites")
def test_reading_a_missing_or_empty_file_raises_and_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(SessionNotFound):
        read_session(tmp_path / "none.jsonl", make_stamps())
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(NotASession):
        read_session(tmp_path / "empty.jsonl", make_stamps())

    assert not (tmp_path / "none.jsonl").exists()


def test_large_images_are_externalised_if_configured_and_restored_when_opened(
    tmp_path: Path,
) -> None:
    image = Image(data=b64encode(bytes(2000)).decode(), mime_type="image/png")
    message_entry = MessageEntry(message=UserMessage(content=(image,)))
    store = BlobStore(tmp_path / "blobs")
    inline = replace(make_location(tmp_path / "inline"), blobs=store)
    outside = replace(make_location(tmp_path / "outside"), blobs=store, externalize_images=True)
    sizes = []

    for location in (inline, outside):
        log = new_session(location)
        log.append(message_entry)
        entry = log.append(message_entry)
        log.close()
        assert log.file is not None
        sizes.append(log.file.stat().st_size)
        again = open_session(log.file, location)
        assert again.entry(entry.id) == entry
        again.close()
        fork = fork_file(log.file, location)
        assert fork.entry(entry.id) == entry
        fork.close()

    assert sizes[0] > 5000 > 1000 > sizes[1]
