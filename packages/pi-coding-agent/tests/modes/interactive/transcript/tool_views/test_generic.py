from __future__ import annotations

from pi.modes.interactive.transcript.tool_views.generic import generic_view
from tests.modes.interactive.transcript.looks import call
from tests.modes.interactive.transcript.tool_views.shown import done, shown


def test_arguments_stand_on_one_row_and_the_result_is_folded() -> None:
    made = done(call("fetch", url="http://x", n=[1, 2]), "\n".join("abcdefg"))

    assert shown(generic_view, made) == (
        "url=http://x n=[1,2]",
        ["a", "b", "c", "d", "e", "… 2 more lines (ctrl+o to expand)"],
        "",
    )


def test_expanded_every_argument_has_its_own_row() -> None:
    made = done(call("fetch", url="http://x", n=1), "text")

    assert shown(generic_view, made, expanded=True) == ("", ["url=http://x", "n=1", "text"], "")


def test_a_failure_is_reported() -> None:
    made = done(call("fetch", url="x"), "No route.", failed=True)

    assert shown(generic_view, made) == ("url=x", ["No route."], "")
