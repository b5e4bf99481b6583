from __future__ import annotations

from pi.tui.overlays import FocusState
from tests.tui.parts import Field, Rows


def test_only_one_has_the_focus() -> None:
    focus, first, second = FocusState(), Field(), Field()

    focus.set(first)
    focus.set(second)

    assert (first.focused, second.focused, focus.target) == (False, True, second)


def test_a_component_that_does_not_care_may_have_it() -> None:
    focus, rows = FocusState(), Rows()

    focus.set(rows)
    assert focus.target is rows
    focus.set(None)
    assert focus.target is None
