from __future__ import annotations

from pi.modes.interactive.transcript.tool_views.search_tools import find_view, grep_view, ls_view
from tests.modes.interactive.transcript.looks import call
from tests.modes.interactive.transcript.tool_views.shown import done, shown

FOUND = "a.py:1: x\na.py-2- y\nb.py:3: x\n\n[100 matches limit reached]"


def test_grep_counts_lines_that_match() -> None:
    made = done(call("grep", pattern="x", path="src", glob="*.py"), FOUND)

    assert shown(grep_view, made) == ("/x/ in src *.py", [], "2 matches, and more")
    assert shown(grep_view, made, expanded=True)[1][0] == "a.py:1: x"


def test_find_counts_files_and_ls_entries() -> None:
    ended_call = done(call("find", pattern="*.py"), "a.py\nb.py")
    listed = done(call("ls"), "a.py")
    cut = done(call("grep", pattern="x"), "a.py:1: x\n\n[Some lines truncated to 500 chars]")

    assert shown(find_view, ended_call) == ("*.py", [], "2 files")
    assert shown(ls_view, listed) == (".", [], "1 entry")
    assert shown(grep_view, cut)[2] == "1 match"


def test_nothing_found_is_reported() -> None:
    assert shown(grep_view, done(call("grep", pattern="x"), "No matches found"))[2] == "nothing"
    assert (
        shown(find_view, done(call("find", pattern="x"), "No files found matching pattern"))[2]
        == "nothing"
    )
    assert shown(ls_view, done(call("ls"), "(empty directory)"))[2] == "nothing"


def test_a_running_or_failed_search_shows_no_count() -> None:
    assert shown(grep_view, call("grep", pattern="x")) == ("/x/", [], "")
    assert shown(ls_view, done(call("ls", path="a"), "Not a folder.", failed=True)) == (
        "a",
        ["Not a folder."],
        "",
    )
