from __future__ import annotations

import pytest

from pi.coding.export.outline import changes, subject, text_argument
from tests.coding.export.sessions import called, came


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ({"path": "a.py"}, "a.py"),
        ({"path": "a.py", "offset": 10, "limit": 5}, "a.py:10-14"),
        ({"path": "a.py", "offset": 10}, "a.py:10"),
        ({"path": "a.py", "limit": 5}, "a.py:1-5"),
        ({"path": "a.py", "offset": "ten"}, "a.py"),
        ({"pattern": "x", "path": "src"}, "src"),
        ({"command": "cd a\nls"}, "cd a ls"),
        ({"command": 5, "query": "who"}, "who"),
        ({"other": "x"}, ""),
        ({"command": "x" * 200}, "x" * 159 + "…"),
    ],
)
def test_the_subject_is_the_most_descriptive_argument(
    arguments: dict[str, object], about: str
) -> None:
    assert subject(called("c", "tool", **arguments)) == about


def test_an_argument_that_is_not_text_is_skipped() -> None:
    call = called("c", "read", path=7, file_path="a.py")

    assert [text_argument(call, "path", "file_path"), text_argument(call, "path")] == ["a.py", ""]


@pytest.mark.parametrize("details", [{}, {"diff": 3}, [], "diff", None])
def test_a_result_without_a_diff_has_changed_nothing(details: object) -> None:
    assert changes(came("c", "edit", "text", details=details)) == ""


def test_a_result_contains_its_diff() -> None:
    assert changes(came("c", "edit", "text", details={"diff": "+1 a"})) == "+1 a"
