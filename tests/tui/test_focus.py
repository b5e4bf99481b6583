from __future__ import annotations

from pi.tui.overlays import Focus
from tests.tui.parts import Field, Rows


def test_only_one_has_the_focus() -> None:
    focus, first, second = Focus(), Field(), Field()

    focus.set(first)
    focus.set(second)

    assert (first.focused, second.focused, focus.target) == (False, True, second)


def test_a_component_that_does_not_care_may_have_it() -> None:
    focus, rows = Focus(), Rows()

    focus.set(rows)
    assert focus.target is rows
    focus.set(None)
    assert focus.target is None
