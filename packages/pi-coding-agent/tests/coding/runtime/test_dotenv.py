from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.coding.runtime.machine import (
    CurrentVariables,
    Environment,
    layered,
    parse_dotenv,
    read_dotenv,
)

TEXT = """\
# a comment
PLAIN=one
export SPACED = two words   # said aside
DOUBLE="a\\n\\"b\\" # not aside"  # aside
SINGLE='as it is \\n $PLAIN'
EMPTY=
HASH=a#b
EQUALS=x=y
LINES="first
second"
UNCLOSED="half
not a variable
1BAD=x
OMP_MODE=omp
OMP_BOTH=omp
PI_BOTH=pi
"""


def test_names_and_values_are_parsed() -> None:
    assert parse_dotenv(TEXT) == {
        "PLAIN": "one",
        "SPACED": "two words",
        "DOUBLE": 'a\n"b" # not aside',
        "SINGLE": "as it is \\n $PLAIN",
        "EMPTY": "",
        "HASH": "a#b",
        "EQUALS": "x=y",
        "LINES": "first\nsecond",
        "UNCLOSED": '"half',
        "OMP_MODE": "omp",
        "PI_MODE": "omp",
        "OMP_BOTH": "omp",
        "PI_BOTH": "pi",
    }


def test_windows_line_endings_are_accepted() -> None:
    assert parse_dotenv("A=1\r\nB=2\r\n") == {"A": "1", "B": "2"}


@given(st.text())
def test_any_text_is_parsed_and_all_names_are_valid(text: str) -> None:
    assert all(name.isidentifier() for name in parse_dotenv(text))


@given(st.dictionaries(st.from_regex(r"[A-Z_]{1,5}", fullmatch=True), st.text("ab$#=' \t")))
def test_quoted_values_keep_spaces_and_special_characters(variables: dict[str, str]) -> None:
    text = "".join(f'{name}="{value}"\n' for name, value in variables.items())

    assert parse_dotenv(text) == variables


def test_process_variables_take_precedence_then_those_of_the_first_file(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("A=first\nB=first\n")
    second.write_text("A=second\nB=second\nC=second\n")

    environment = layered({"A": "process"}, [first, second, tmp_path / "missing"], warn=fail)

    assert environment == Environment(
        values={"A": "process", "B": "first", "C": "second"}, from_files=frozenset({"B", "C"})
    )
    assert environment.of_process == {"A": "process"}


def test_an_added_file_overrides_earlier_files_but_not_process_variables() -> None:
    environment = Environment(values={"A": "process", "B": "file"}, from_files=frozenset({"B"}))

    changed = environment.with_file({"A": "project", "B": "project", "C": "project"})

    assert changed.values == {"A": "process", "B": "project", "C": "project"}
    assert changed.from_files == {"B", "C"}


def test_a_file_without_new_variables_returns_the_same_environment() -> None:
    environment = Environment(values={"A": "process"})

    assert environment.with_file({"A": "file"}) is environment


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="who is root may read all")
def test_an_unreadable_file_is_reported_and_skipped(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("A=1")
    path.chmod(0)
    reported: list[str] = []

    assert read_dotenv(path, reported.append) == {}
    assert reported[0].startswith(f"Warning: {path} was not read: ")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes here")
def test_a_pipe_is_reported_and_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".env")
    reported: list[str] = []

    assert read_dotenv(tmp_path / ".env", reported.append) == {}
    assert "it is a device or a pipe, not a regular file" in reported[0]


def test_a_directory_named_dotenv_is_ignored(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()

    assert read_dotenv(tmp_path / ".env", fail) == {}


def test_current_variables_reflect_later_changes() -> None:
    current = CurrentVariables({"A": "1"})
    before = dict(current)

    current.current = {"A": "2", "B": "3"}

    assert (before, dict(current), len(current)) == ({"A": "1"}, {"A": "2", "B": "3"}, 2)


def fail(text: str) -> None:
    pytest.fail(text)
