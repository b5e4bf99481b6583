from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pi.modes.interactive.transcript.tool_views import VIEWS, view_of
from pi.modes.interactive.transcript.tool_views.generic import generic_view
from pi.modes.interactive.transcript.tool_views.view import folded_head, folded_tail, format_count
from pi.tui.text.width import visible_width
from tests.modes.interactive.transcript.looks import call, commands_in, look
from tests.modes.interactive.transcript.tool_views.shown import done

HOSTILE = st.text(alphabet="ab\n\r\t\x07\x1b\x9b]0;[2J", max_size=40)
TEXT = st.text(alphabet="ab\n\t漢🙂\x1b[0m:1 ", max_size=80)


def test_a_tool_without_a_view_gets_the_generic_one() -> None:
    assert view_of("something") is generic_view
    assert view_of("bash") is VIEWS["bash"]


@given(st.sampled_from(sorted({*VIEWS, "other"})), TEXT, st.booleans(), st.integers(1, 40))
def test_no_view_draws_rows_that_are_too_wide(
    name: str, text: str, failed: bool, width: int
) -> None:
    arguments = dict.fromkeys(("path", "command", "content", "pattern", "glob"), text)
    made = done(call(name, **arguments), text, failed=failed, details={"diff": text})
    for expanded in (False, True):
        shared = look()
        shared.is_expanded = expanded
        rows = view_of(name)(made, shared, width).rows
        assert all(visible_width(row) <= max(width, 4) for row in rows)


@given(st.sampled_from(sorted({*VIEWS, "other"})), HOSTILE, st.booleans())
def test_no_view_contains_control_sequences_other_than_styles(
    name: str, text: str, failed: bool
) -> None:
    names = ("path", "command", "content", "pattern", "glob", text)
    made = done(call(name, **dict.fromkeys(names, text)), text, failed=failed)
    for expanded in (False, True):
        shared = look()
        shared.is_expanded = expanded
        view = view_of(name)(made, shared, 40)
        assert commands_in((view.title, *view.more_title, *view.rows, view.note)) == []


def test_heads_and_tails_are_folded() -> None:
    lines = list("abcd")

    assert [len(folded_head(lines, most, look(), 40)) for most in (2, 4)] == [3, 4]
    assert folded_tail(lines, 2, look(), 40)[1:] == ["c", "d"]


def test_counts_are_shown_with_singular_or_plural() -> None:
    assert [
        format_count(1, "line"),
        format_count(2, "line"),
        format_count(2, "match", "matches"),
    ] == [
        "1 line",
        "2 lines",
        "2 matches",
    ]
