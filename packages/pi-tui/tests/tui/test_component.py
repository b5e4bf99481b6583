from __future__ import annotations

from pi.tui.component import CURSOR_MARKER, Focusable, Interactive, wants_key_release
from pi.tui.text.width import visible_width
from tests.tui.parts import Field, Rows


def test_the_cursor_marker_takes_no_column() -> None:
    assert visible_width(f"ab{CURSOR_MARKER}c") == 3


def test_component_protocols_are_checked_by_members() -> None:
    field, rows = Field(), Rows()

    assert (isinstance(field, Focusable), isinstance(field, Interactive)) == (True, True)
    assert (isinstance(rows, Focusable), isinstance(rows, Interactive)) == (False, False)


def test_a_component_can_request_key_releases() -> None:
    class Piano(Field):
        wants_key_release = True

    assert (wants_key_release(Piano()), wants_key_release(Field())) == (True, False)
