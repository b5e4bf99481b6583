from __future__ import annotations

from pi.ai.messages import Text
from pi.modes.interactive.transcript.tool_views.shell_tools import bash_view
from pi.modes.interactive.transcript.tools import ToolBlock
from pi.tui.style import ColourDepth
from pi.tui.text.ansi import strip_sequences
from tests.modes.interactive.transcript.looks import call, look, plain
from tests.modes.interactive.transcript.tool_views.shown import done, shown

SEQ = "\n".join(str(number) for number in range(1, 10))


def test_running_commands_show_the_tail_of_their_output_and_all_of_it_when_expanded() -> None:
    made = call("bash", command="seq 1 9")
    made.show((Text(text=SEQ),), None)

    assert shown(bash_view, made) == (
        "seq 1 9",
        ["… 4 earlier lines (ctrl+o to expand)", "5", "6", "7", "8", "9"],
        "",
    )
    assert shown(bash_view, made, expanded=True)[1] == SEQ.split("\n")


def test_the_exit_code_or_timeout_of_a_command_is_a_note() -> None:
    for text, rows, note in (
        ("no\n\nCommand exited with code 3", ["no"], "exit 3"),
        ("Command aborted", [], ""),  # shown by its state
        ("a\n\nCommand timed out after 5 seconds", ["a"], "timed out after 5 seconds"),
    ):
        made = done(call("bash", command="x"), text, failed=True)
        assert shown(bash_view, made) == ("x", rows, note)


def test_the_time_limit_is_shown_while_the_command_runs_and_when_expanded() -> None:
    made = call("bash", command="make", timeout=77)
    with_limit = "make\nfor at most 77 s"

    assert shown(bash_view, made)[0] == with_limit
    ended = done(made, "ok")
    assert shown(bash_view, ended)[0] == "make"
    assert shown(bash_view, ended, expanded=True)[0] == with_limit


def test_a_command_without_output_reports_it() -> None:
    assert shown(bash_view, done(call("bash", command="true"), "(no output)")) == (
        "true",
        [],
        "no output",
    )


def test_a_command_of_many_lines_is_folded() -> None:
    made = call("bash", command="\n".join(f"line {number}" for number in range(8)))

    assert plain(ToolBlock(look(), made))[1:] == [
        " ● $ line 0",
        "     line 1",
        "     line 2",
        "     … 5 more lines (ctrl+o to expand)",
    ]


def test_the_lines_of_a_command_are_indented_differently_from_its_output() -> None:
    made = done(call("bash", command="cd a\nmake all"), "ok")

    assert plain(ToolBlock(look(), made)) == ["", " ✓ $ cd a", "     make all", "   ok"]


def test_colours_of_the_output_stay_and_span_lines() -> None:
    red, reset = "\x1b[31m", "\x1b[0m"
    made = done(call("bash", command="x"), f"{red}one\ntwo{reset} three\x1b[2Jfour")
    rows = bash_view(made, look(), 60).rows

    assert [strip_sequences(row) for row in rows] == ["one", "two threefour"]
    assert all("31m" in row for row in rows)
    assert "\x1b[2J" not in "".join(rows)
    assert made.text == "one\ntwo threefour"


def test_a_style_cannot_hide_output_and_is_left_out_without_colours() -> None:
    made = done(call("bash", command="x"), "\x1b[8mhidden\x1b[0m \x1b[5;38;5;8mgrey\x1b[m")

    (row,) = bash_view(made, look(), 60).rows
    assert "\x1b[8m" not in row
    assert "\x1b[38;5;8mgrey" in row
    (row,) = bash_view(made, look(ColourDepth.NONE), 60).rows
    assert row == "hidden grey"


def test_an_exit_code_below_open_colours_is_a_note() -> None:
    text = "\x1b[31mno\n\nCommand exited with code 2"
    made = done(call("bash", command="x"), text, failed=True)

    assert shown(bash_view, made) == ("x", ["no"], "exit 2")


def test_a_long_line_fills_at_most_the_rows_of_the_tail() -> None:
    made = done(call("bash", command="x"), "first\n" + "y" * 1000)

    assert shown(bash_view, made, width=50)[1] == [
        "… 2 earlier lines (ctrl+o to expand)",
        *["y" * 50] * 5,
    ]


def test_the_notice_about_omitted_output_is_shown_below_the_tail() -> None:
    remark = "Showing lines 2-9 of 9. Full output: /somewhere/pi-bash-1.log"
    made = done(call("bash", command="x"), f"{SEQ}\n\n[{remark}]\n\nCommand exited with code 1")

    assert shown(bash_view, made, width=80) == (
        "x",
        ["… 4 earlier lines (ctrl+o to expand)", "5", "6", "7", "8", "9", remark],
        "exit 1",
    )


def test_why_a_call_was_refused_is_reported_from_its_beginning() -> None:
    why = 'Validation failed for tool "bash":\n  - command: is missing\n\n'
    made = done(call("bash"), f'{why}Received arguments:\n{{\n  "cmd": "x"\n}}', failed=True)

    assert shown(bash_view, made)[1][:2] == [
        'Validation failed for tool "bash":',
        "  - command: is missing",
    ]
