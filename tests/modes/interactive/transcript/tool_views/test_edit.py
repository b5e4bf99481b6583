from __future__ import annotations

from pi.modes.interactive.transcript.tool_views.file_tools import DIFF_ROWS, edit_view
from tests.modes.interactive.transcript.looks import call, look
from tests.modes.interactive.transcript.tool_views.shown import done, shown

EDITS = [{"oldText": "a\nb", "newText": "c"}]


def test_what_is_to_be_replaced_is_shown_before_it_is() -> None:
    assert shown(edit_view, call("edit", path="x.py", edits=EDITS)) == (
        "x.py",
        ["- a", "- b", "+ c"],
        "",
    )


def test_the_diff_is_shown_afterwards() -> None:
    diff = " 1 a\n-2 b\n+2 c\n+3 d"
    made = done(call("edit", path="x.py", edits=EDITS), "ok", details={"diff": diff})

    assert shown(edit_view, made) == ("x.py", diff.split("\n"), "+2 -1")


def test_the_lines_of_a_diff_have_their_colours() -> None:
    made, theme = look(), look().theme
    diff = done(call("edit", path="x"), "ok", details={"diff": "-1 a\n+1 b\n 2 c"})

    rows = edit_view(diff, made, 40).rows

    assert list(rows) == [
        theme.paint("toolDiffRemoved")("-1 a"),
        theme.paint("toolDiffAdded")("+1 b"),
        theme.paint("toolDiffContext")(" 2 c"),
    ]


def test_words_that_differ_stand_out() -> None:
    made, theme = look(), look().theme
    diff = "-1 x = spam(1)\n-2 y\n+1 x = eggs(1)\n+2 y\n+3 z"
    unpaired = done(call("edit", path="x"), "ok", details={"diff": diff})
    paired = done(call("edit", path="x"), "ok", details={"diff": "-1 x = spam(1)\n+1 x = eggs(1)"})

    old, new = theme.paint("toolDiffRemoved"), theme.paint("toolDiffAdded")
    assert edit_view(unpaired, made, 40).rows[0] == old("-1 x = spam(1)")
    assert list(edit_view(paired, made, 40).rows) == [
        old("-1 ")
        + old("x = ")
        + theme.paint("toolDiffRemoved", inverse=True)("spam")
        + old("(1)"),
        new("+1 ") + new("x = ") + theme.paint("toolDiffAdded", inverse=True)("eggs") + new("(1)"),
    ]


def test_a_long_diff_is_folded() -> None:
    lines = [f"+{number} x" for number in range(1000)]
    made = done(call("edit", path="x"), "ok", details={"diff": "\n".join(lines)})

    assert shown(edit_view, made) == (
        "x",
        [*lines[:DIFF_ROWS], f"… {1000 - DIFF_ROWS} more lines (ctrl+o to expand)"],
        "+1000 -0",
    )
    assert shown(edit_view, made, expanded=True)[1] == lines


def test_a_failure_is_reported() -> None:
    made = done(call("edit", path="x", edits=EDITS), "Could not find it.", failed=True)

    assert shown(edit_view, made) == ("x", ["Could not find it."], "")


def test_half_received_edits_are_no_trouble() -> None:
    assert shown(edit_view, call("edit", path="x", edits=[{"oldText": "a"}, "b"]))[1] == ["- a"]
    assert shown(edit_view, call("edit", edits="[{"))[0] == "…"


def test_a_long_failure_is_wrapped_and_folded_but_never_cut_within_a_line() -> None:
    made = done(call("edit", path="a.py"), "one two three four\n" * 5, failed=True)

    assert shown(edit_view, made, width=9)[1] == [
        *("one two", "three", "four") * 2,
        "… 9 more…",
    ]
    assert shown(edit_view, made, width=9, expanded=True)[1] == ["one two", "three", "four"] * 5
