from __future__ import annotations

from pi.tui.containers import Spacer


def test_a_spacer_renders_empty_rows() -> None:
    spacer = Spacer(2)
    assert spacer.render(10) == ["", ""]

    spacer.set_rows(1)

    assert spacer.render(10) == [""]


def test_unchanged_rows_are_the_same_list() -> None:
    spacer = Spacer()
    first = spacer.render(10)
    spacer.invalidate()

    assert spacer.render(20) is first
