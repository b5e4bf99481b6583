from __future__ import annotations

import pytest

from pi.ai.messages import Text
from pi.modes.interactive.transcript.tool_call_state import ToolCallState
from pi.modes.interactive.transcript.tools import ReadGroupBlock, ToolBlock, duration
from pi.tui.text.width import visible_width
from tests.modes.interactive.transcript.looks import call, look, plain


def test_a_mark_shows_the_state_of_a_call() -> None:
    marks = []
    for end in ("asking", "running", "done", "failed", "interrupted"):
        made = ToolCallState("1", "ls", now=0.0)
        if end != "asking":
            made.run({"path": "a"}, now=0.0)
        if end in ("done", "failed"):
            made.end((), None, failed=end == "failed", now=0.0)
        if end == "interrupted":
            made.interrupt()
        marks.append(plain(ToolBlock(look(), made))[1])

    assert marks == [
        " ○ ls .",
        " ● ls a",
        " ✓ ls a  nothing",
        " ✗ ls a",
        " – ls a  interrupted",
    ]


def test_a_long_call_shows_its_duration() -> None:
    made = call("bash", command="make")
    made.end((Text(text="ok"),), None, failed=False, now=75.0)

    assert plain(ToolBlock(look(), made)) == ["", " ✓ $ make  1m 15s", "   ok"]


def test_reads_are_grouped_until_the_group_is_closed() -> None:
    group = ReadGroupBlock(look())
    calls = [call("read", path=name) for name in ("a.py", "b.py")]
    for tool_call in calls:
        group.add(tool_call)
        tool_call.end((Text(text="x"),), None, failed=False, now=0.0)

    assert plain(group) == ["", " ✓ read a.py  1 line", " ✓      b.py  1 line"]
    assert not group.is_final
    group.is_closed = True
    assert group.is_final


@pytest.mark.parametrize("width", [8, 20, 60])
def test_no_row_is_wider_than_the_screen(width: int) -> None:
    made = call("bash", command="echo 漢字 and something that is quite long" * 3)
    made.end((Text(text="漢字" * 50 + "\n\tx"),), None, failed=True, now=9.0)

    assert all(visible_width(row) <= width for row in ToolBlock(look(), made).render(width))


def test_a_path_that_does_not_fit_keeps_its_end_and_other_titles_their_beginning() -> None:
    path = "src/somewhere/deep/below/it.py"
    made = call("edit", path=path)
    made.end((Text(text="ok"),), {"diff": "+1 a"}, failed=False, now=0.0)
    group = ReadGroupBlock(look())
    group.add(call("read", path=path, offset=5))

    assert plain(ToolBlock(look(), made), 30)[1] == " ✓ edit …p/below/it.py  +1 -0"
    assert plain(group, 30)[1] == " ● read …e/deep/below/it.py:5"


def test_the_whole_title_is_shown_when_expanded() -> None:
    expanded = look()
    expanded.is_expanded = True
    made = call("bash", command="make everything at once")
    made.end((Text(text="no\n\nCommand exited with code 2"),), None, failed=True, now=0.0)

    assert plain(ToolBlock(expanded, made), 20) == [
        "",
        " ✗ $ make",
        "     everything at",
        "     once  exit 2",
        "   no",
    ]


def test_a_command_wraps_to_a_few_rows_and_its_note_follows() -> None:
    made = call("bash", command="make everything at once\nand then\nmore\nand more\nand more")
    made.end((Text(text="no\n\nCommand exited with code 2"),), None, failed=True, now=0.0)

    assert plain(ToolBlock(look(), made), 40) == [
        "",
        " ✗ $ make everything at once",
        "     and then",
        "     more",
        "     … 2 more lines (ctrl+o to expand)",
        "     exit 2",
        "   no",
    ]


def test_rows_that_may_still_change_are_kept_out_of_the_history() -> None:
    running = ToolBlock(look(), call("edit", path="a.py", edits=[]))
    group = ReadGroupBlock(look())
    calls = [call("read", path=name) for name in ("a.py", "b.py", "c.py")]
    for tool_call in calls:
        group.add(tool_call)
    safe = []
    for tool_call in (calls[2], calls[0], calls[1]):
        tool_call.end((Text(text="x"),), None, failed=False, now=0.0)
        group.invalidate()
        group.render(40)
        safe.append(group.commit_safe_end)

    assert (running.commit_safe_end, safe) == (0, [0, 2, 4])


def test_durations_are_short() -> None:
    assert [duration(seconds) for seconds in (4.23, 12.9, 65.0, 7380.0)] == [
        "4.2s",
        "12s",
        "1m 05s",
        "2h 03m",
    ]
