from __future__ import annotations

from pi.modes.interactive.transcript.tool_views.file_tools import write_view
from tests.modes.interactive.transcript.looks import call
from tests.modes.interactive.transcript.tool_views.shown import done, shown


def test_the_beginning_of_the_file_is_shown() -> None:
    content = "".join(f"{number}\n" for number in range(12))

    assert shown(write_view, call("write", path="a.txt", content=content)) == (
        "a.txt",
        [*map(str, range(8)), "… 4 more lines (ctrl+o to expand)"],
        "12 lines",
    )


def test_an_empty_file_has_no_preview() -> None:
    assert shown(write_view, call("write", path="a.txt", content="")) == ("a.txt", [], "")


def test_a_failure_is_reported() -> None:
    made = done(call("write", path="a.txt", content="x"), "No space left.", failed=True)

    assert shown(write_view, made) == ("a.txt", ["No space left."], "")
