from __future__ import annotations

import pytest

from pi.modes.interactive.diffs import language_of
from pi.modes.interactive.transcript.tool_views.file_tools import read_view
from tests.modes.interactive.transcript.looks import call
from tests.modes.interactive.transcript.tool_views.shown import done, shown


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        ({"path": "/home/ada/project/a.py"}, "a.py"),
        ({"path": "a.py", "offset": 10}, "a.py:10"),
        ({"path": "a.py", "limit": 5}, "a.py:1-5"),
        ({"path": "a.py", "offset": 10.0, "limit": 5}, "a.py:10-14"),
        ({"path": "a.py", "offset": "x"}, "a.py"),
        ({}, "…"),
    ],
)
def test_the_title_names_the_lines(arguments: dict[str, object], title: str) -> None:
    assert shown(read_view, call("read", **arguments))[0] == title


def test_the_content_is_shown_when_expanded() -> None:
    made = done(call("read", path="a.txt"), "one\ntwo\n")

    assert shown(read_view, made) == ("a.txt", [], "2 lines")
    assert shown(read_view, made, expanded=True)[1] == ["one", "two"]


def test_a_failure_is_always_seen() -> None:
    made = done(call("read", path="a.txt"), "It is not there.", failed=True)

    assert shown(read_view, made)[1] == ["It is not there."]


def test_languages_are_recognised_by_file_name() -> None:
    names = ("a/b.PY", "Makefile", "x.unknown", "noext", "a.py/Dockerfile", "")

    assert [language_of(name) for name in names] == ["python", "make", "", "", "docker", ""]
