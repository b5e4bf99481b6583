from __future__ import annotations

from pi.tui.overlays import FocusState
from tests.tui.parts import Field, Rows


def test_only_one_component_has_the_focus() -> None:
    focus, first, second = FocusState(), Field(), Field()

    focus.set(first)
    focus.set(second)

    assert (first.focused, second.focused, focus.target) == (False, True, second)


def test_a_component_without_focused_can_have_the_focus() -> None:
    focus, rows = FocusState(), Rows()

    focus.set(rows)
    assert focus.target is rows
    focus.set(None)
    assert focus.target is None
