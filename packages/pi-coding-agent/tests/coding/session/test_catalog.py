from __future__ import annotations

import os
from pathlib import Path

import pytest

from pi.coding.session.catalog import ListedSession, SessionCatalog, is_same_directory
from pi.coding.session.catalog_index import FILE_NAME, load_index
from pi.coding.session.entries import SessionInfo
from pi.coding.session.file_operations import rename_session
from pi.coding.session.opening import open_session
from tests.coding.session.saved import HERE, THERE, keep, location
from tests.coding.session.sessions import append_all, make_stamps, user


def ids(sessions: list[ListedSession]) -> list[str]:
    return [session.summary.id for session in sessions]


def test_sessions_of_a_project_and_of_all_are_listed_the_latest_first(tmp_path: Path) -> None:
    keep(location(tmp_path, seconds=1), "x", id="old")
    keep(location(tmp_path, seconds=3), "x", id="new")
    keep(location(tmp_path, THERE, seconds=2), "x", id="other")
    catalog = SessionCatalog(tmp_path)

    assert ids(catalog.in_directory(HERE)) == ["new", "old"]
    assert ids(catalog.in_all_directories()) == ["new", "other", "old"]


def test_where_there_are_no_sessions_the_list_is_empty(tmp_path: Path) -> None:
    catalog = SessionCatalog(tmp_path)

    assert (catalog.in_directory(HERE), catalog.in_all_directories()) == ([], [])
    assert list(tmp_path.iterdir()) == []


def test_a_session_is_listed_with_its_file_and_size(tmp_path: Path) -> None:
    path = keep(location(tmp_path), "hello", id="abc")

    (listed,) = SessionCatalog(tmp_path).in_directory(HERE)

    assert (listed.path, listed.size) == (path, path.stat().st_size)


@pytest.mark.behaviour("session-identity-and-order")
def test_neither_the_time_of_the_file_nor_a_new_name_changes_the_order(tmp_path: Path) -> None:
    old = keep(location(tmp_path, seconds=1), "x", id="old")
    keep(location(tmp_path, seconds=2), "x", id="new")
    os.utime(old, (2_000_000_000, 2_000_000_000))
    rename_session(old, "renamed", make_stamps())

    listed = SessionCatalog(tmp_path).in_directory(HERE)

    assert [(session.summary.id, session.summary.name) for session in listed] == [
        ("new", None),
        ("old", "renamed"),
    ]


@pytest.mark.behaviour("session-identity-and-order")
def test_a_session_and_its_links_are_listed_once(tmp_path: Path) -> None:
    path = keep(location(tmp_path), "x", id="a")
    (path.parent / "0-link.jsonl").symlink_to(path)
    (path.parent.parent / "linked").symlink_to(path.parent)
    other = keep(location(tmp_path, THERE), "x", id="b")
    (path.parent / "gone.jsonl").symlink_to(tmp_path / "nothing")

    listed = SessionCatalog(tmp_path).in_all_directories()

    assert sorted(session.path for session in listed) == sorted([path, other])


@pytest.mark.behaviour("most-recent-skips-others")
def test_files_that_are_not_sessions_are_not_listed(tmp_path: Path) -> None:
    folder = keep(location(tmp_path), "x", id="a").parent
    (folder / "notes.jsonl").write_text('{"type":"note"}\n')
    (folder / "empty.jsonl").touch()
    (folder / "folder.jsonl").mkdir()
    (folder / "b.txt").write_text("x")
    os.mkfifo(folder / "pipe.jsonl")

    assert ids(SessionCatalog(tmp_path).in_all_directories()) == ["a"]


@pytest.mark.behaviour("most-recent-skips-others")
def test_sessions_of_another_project_in_the_same_folder_are_left_out(tmp_path: Path) -> None:
    keep(location(tmp_path, "/a/b"), "x", id="mine")
    keep(location(tmp_path, "/a-b"), "x", id="theirs")
    catalog = SessionCatalog(tmp_path)

    assert ids(catalog.in_directory("/a/b")) == ["mine"]
    assert ids(catalog.in_directory("/a-b")) == ["theirs"]


def test_a_custom_directory_holds_all_projects_and_is_the_only_one_listed(tmp_path: Path) -> None:
    custom = tmp_path / "custom"
    keep(location(tmp_path, HERE, seconds=1, custom=custom), "x", id="here")
    keep(location(tmp_path, THERE, seconds=2, custom=custom), "x", id="there")
    keep(location(tmp_path, HERE, seconds=3), "x", id="default")
    catalog = SessionCatalog(tmp_path, custom=custom)

    assert ids(catalog.in_directory(HERE)) == ["here"]
    assert ids(catalog.in_all_directories()) == ["there", "here"]


@pytest.mark.behaviour("large-files-are-cheap")
def test_a_file_that_did_not_change_is_not_read_again(tmp_path: Path) -> None:
    path = keep(location(tmp_path), "hello")
    catalog = SessionCatalog(tmp_path)
    before = catalog.in_all_directories()
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_bytes(b"#" * path.stat().st_size)
    os.utime(path, ns=times)

    assert catalog.in_all_directories() == before


def test_a_file_that_did_change_is_read_again(tmp_path: Path) -> None:
    saved_location = location(tmp_path)
    path = keep(saved_location, "hello")
    catalog = SessionCatalog(tmp_path)
    catalog.in_all_directories()
    log = open_session(path, saved_location)
    append_all(log, user("more"), SessionInfo(name="named"))
    log.close()

    (listed,) = catalog.in_all_directories()

    assert (listed.summary.message_count, listed.summary.name) == (2, "named")


def test_a_damaged_index_is_rebuilt_silently(tmp_path: Path) -> None:
    keep(location(tmp_path), "hello")
    catalog = SessionCatalog(tmp_path)
    before = catalog.in_all_directories()
    (tmp_path / FILE_NAME).write_bytes(b"\0\0\0")

    assert catalog.in_all_directories() == before
    assert len(load_index(tmp_path)) == 1


def test_the_index_drops_removed_sessions_and_keeps_those_not_listed(tmp_path: Path) -> None:
    gone, mine = keep(location(tmp_path), "x", id="a"), keep(location(tmp_path), "x", id="b")
    theirs, lost = (keep(location(tmp_path, THERE), "x", id=id) for id in ("c", "d"))
    catalog = SessionCatalog(tmp_path)
    catalog.in_all_directories()
    gone.unlink()
    lost.unlink()

    catalog.in_directory(HERE)

    assert set(load_index(tmp_path)) == {os.path.realpath(mine), os.path.realpath(theirs)}


def test_many_sessions_are_listed_at_once(tmp_path: Path) -> None:
    for number in range(50):
        keep(location(tmp_path, seconds=number), "x", id=f"s{number}")

    assert ids(SessionCatalog(tmp_path).in_all_directories()) == [
        f"s{n}" for n in reversed(range(50))
    ]


def test_a_directory_is_the_same_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    assert is_same_directory(str(tmp_path / "link"), str(tmp_path / "real"))
    assert is_same_directory("/gone", "/gone")
    assert not is_same_directory("/gone", "/other")
