from __future__ import annotations

from pi.modes.interactive.transcript.tool_views.file_tools import DIFF_ROWS, edit_view
from pi.tui.style import ColourDepth
from pi.tui.text.ansi import strip_sequences
from tests.modes.interactive.transcript.looks import call, look
from tests.modes.interactive.transcript.tool_views.shown import done, shown

EDITS = [{"oldText": "a\nb", "newText": "c"}]


def test_old_and_new_text_are_shown_before_the_edit() -> None:
    assert shown(edit_view, call("edit", path="x.py", edits=EDITS)) == (
        "x.py",
        ["- a", "- b", "+ c"],
        "",
    )


def test_the_diff_is_shown_afterwards() -> None:
    diff = " 1 a\n-2 b\n+2 c\n+3 d"
    made = done(call("edit", path="x.py", edits=EDITS), "ok", details={"diff": diff})

    rows = ["1   a", "  - b", "2 + c", "3 + d"]  # the numbers are those of the new text
    assert shown(edit_view, made) == ("x.py", rows, "+2 -1")


def test_kept_lines_below_a_change_have_new_numbers() -> None:
    diff = " 1 a\n-2 b\n 3 c\n   ...\n 8 h\n+8 x\n 9 i"
    made = done(call("edit", path="x.py"), "ok", details={"diff": diff})

    assert shown(edit_view, made)[1] == [
        "1   a",
        "  - b",
        "2   c",
        "    ⋯",
        "7   h",
        "8 + x",
        "9   i",
    ]


def test_the_lines_of_a_diff_have_their_colours() -> None:
    diff = "-1 return 1\n+1 if True:\n 2 c"
    for path, text in (("x", "toolDiffRemoved"), ("x.py", "")):
        made = done(call("edit", path=path), "ok", details={"diff": diff})
        shared = look()
        paint = shared.theme.paint
        code = (
            paint(text)("return 1")
            if text
            else (paint("syntaxKeyword")("return") + " " + paint("syntaxNumber")("1"))
        )
        row = edit_view(made, shared, 20).rows[0]

        sign = paint("dim")(" ") + " " + paint("toolDiffRemoved")("-")
        assert row == paint("toolDiffRemovedBg")(f"{sign} {code}" + " " * 8)


def test_without_backgrounds_signs_and_colours_are_left() -> None:
    diff = "-1 x = spam(1)\n+1 x = eggs(1)"
    made = done(call("edit", path="x.py"), "ok", details={"diff": diff})
    rows = {depth: edit_view(made, look(depth), 30).rows for depth in ColourDepth}

    assert "48;" not in "".join(rows[ColourDepth.BASIC])
    assert "\x1b[4;31m\x1b[31mspam" in rows[ColourDepth.BASIC][0]
    assert strip_sequences(rows[ColourDepth.NONE][1]).rstrip() == "1 + x = eggs(1)"


def test_words_that_differ_stand_out() -> None:
    theme = look().theme
    paired = "-1 x = spam(1)\n+1 x = eggs(1)"
    others = "-1 first = 1\n-2 x = spam(1)\n+1 x = eggs(1)"
    for diff in (paired, others):  # as many lines on both sides, or not
        made = done(call("edit", path="x"), "ok", details={"diff": diff})
        *_, old, new = edit_view(made, look(), 40).rows

        for row, token, word in (
            (old, "toolDiffRemoved", "spam"),
            (new, "toolDiffAdded", "eggs"),
        ):
            assert (
                theme.paint(f"{token}WordBg")(theme.paint(token)(word)).removesuffix("\x1b[49m")
                in row
            )


def test_a_long_line_of_a_diff_is_wrapped_in_at_most_three_rows() -> None:
    diff = "-1 one two three\n+1 " + "four five six " * 20
    made = done(call("edit", path="x"), "ok", details={"diff": diff})
    shared = look()

    rows = [strip_sequences(row).rstrip() for row in edit_view(made, shared, 18).rows]
    assert rows == [
        "  - one two three",
        "1 + four five six",
        "    four five six",
        "    four five six…",
    ]
    shared.is_expanded = True
    assert len(edit_view(made, shared, 18).rows) == 21


def test_a_long_diff_is_folded() -> None:
    lines = [f"+{number} x" for number in range(1000)]
    made = done(call("edit", path="x"), "ok", details={"diff": "\n".join(lines)})

    assert shown(edit_view, made) == (
        "x",
        [
            *(f"{number:>2} + x" for number in range(DIFF_ROWS)),
            f"… {1000 - DIFF_ROWS} more lines (ctrl+o to expand)",
        ],
        "+1000 -0",
    )
    every = [f"{number:>3} + x" for number in range(1000)]
    assert shown(edit_view, made, expanded=True)[1] == every


def test_a_failure_is_reported() -> None:
    made = done(call("edit", path="x", edits=EDITS), "Could not find it.", failed=True)

    sought = ["Could not find it.", "It was looking for:", "- a", "- b"]
    assert shown(edit_view, made) == ("x", sought, "")
    assert shown(edit_view, made, expanded=True)[1] == [*sought, "+ c"]


def test_a_refused_edit_shows_only_the_reason() -> None:
    made = done(call("edit", path="x", edits=EDITS), "The user denied this call.", failed=True)

    assert shown(edit_view, made) == ("x", ["The user denied this call."], "")


def test_a_failure_of_one_of_several_edits_shows_that_one() -> None:
    edits = [{"oldText": "a", "newText": "b"}, {"oldText": "c", "newText": "d"}]
    made = done(call("edit", path="x", edits=edits), "edits[1] was not found.", failed=True)

    assert shown(edit_view, made)[1][-1:] == ["- c"]


def test_partially_received_edits_are_shown() -> None:
    assert shown(edit_view, call("edit", path="x", edits=[{"oldText": "a"}, "b"]))[1] == ["- a"]
    assert shown(edit_view, call("edit", edits="[{"))[0] == "…"


def test_a_long_failure_is_wrapped_and_folded_but_never_cut_within_a_line() -> None:
    made = done(call("edit", path="a.py"), "one two three four\n" * 5, failed=True)

    assert shown(edit_view, made, width=9)[1] == [
        *("one two", "three", "four") * 2,
        "… 9 more…",
    ]
    assert shown(edit_view, made, width=9, expanded=True)[1] == ["one two", "three", "four"] * 5
