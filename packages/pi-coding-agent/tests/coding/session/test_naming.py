from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.session.writing import (
    clean_name,
    file_name,
    folder_name,
    is_session_id,
    session_directory,
)


@pytest.mark.parametrize(
    ("cwd", "folder"),
    [
        ("/a.b/c:d", "--a.b-c-d--"),
        ("/", "----"),
        ("/home/user/My Project ü", "--home-user-My Project ü--"),
        ("C:\\Users\\me", "--C--Users-me--"),
    ],
)
def test_the_folder_of_a_directory_is_the_one_that_the_original_uses(cwd: str, folder: str) -> None:
    assert folder_name(cwd) == folder


def test_a_file_is_named_after_its_time_and_id() -> None:
    assert file_name("2026-11-15T19:23:06.927Z", "01a1") == "2026-11-15T19-23-06-927Z_01a1.jsonl"


def test_a_custom_directory_has_no_folder_per_project() -> None:
    agent, custom = Path("/agent"), Path("/custom")

    assert session_directory(agent, "/a/b") == Path("/agent/sessions/--a-b--")
    assert session_directory(agent, "/a/b", custom=custom) == custom


@pytest.mark.parametrize("id", ["a", "01a1e0a9-7af1", "a.b_c-d", "0" * 200])
def test_an_id_is_letters_digits_and_some_marks(id: str) -> None:
    assert is_session_id(id)


@pytest.mark.parametrize("id", ["", "-a", "a-", ".", "a/b", "a b", "ä", "a\n", "../x"])
def test_an_id_that_could_leave_the_folder_is_invalid(id: str) -> None:
    assert not is_session_id(id)


@pytest.mark.behaviour("session-names-are-clean")
def test_a_name_is_one_line_without_control_characters() -> None:
    assert clean_name("  a\nb\x1b]0;title\x07\tc\x00  ") == "a b c"


def test_very_long_paths_have_distinct_valid_folder_names(tmp_path: Path) -> None:
    long = "/" + "/".join(["a" * 100, "ü" * 60, "b" * 100])
    names = {folder_name(long), folder_name(f"{long}c")}

    assert len(names) == 2
    for name in names:
        (tmp_path / name).mkdir()
