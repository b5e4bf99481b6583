from __future__ import annotations

from pi.modes.interactive.extensions.regions import FooterLines, Statuses
from pi.tui.component import Component
from tests.modes.interactive.extensions.layouts import Line, plain
from tests.modes.interactive.fake_screen import plain_theme


class Footer:
    """Lines on a screen of some height, and what was painted."""

    def __init__(self, rows: int = 24) -> None:
        self.rows = rows
        self.painted: list[Component | None] = []
        self.lines = FooterLines(lambda: self.rows, repaint=self.painted.append)


def test_statuses_stand_on_one_line_in_the_order_of_their_keys() -> None:
    statuses = Statuses(plain_theme())
    assert statuses.render(20) == []

    statuses.set("b", "second\nline")
    statuses.set("a", "first")
    statuses.set("c", "gone")
    statuses.set("c", None)
    statuses.invalidate()

    assert plain(statuses) == ["first second line"]
    statuses.draw = lambda key, text, width: text.upper() if key == "a" else None
    statuses.invalidate()
    assert plain(statuses) == ["FIRST second line"]
    statuses.draw = lambda key, text, width: None
    statuses.invalidate()
    assert plain(statuses, 9) == ["first se…"]
    assert statuses.texts == {"a": "first", "b": "second line"}


def test_footer_lines_are_sorted_by_order_and_then_by_registration() -> None:
    footer = Footer()
    for key, order in (("late", 1), ("one", 0), ("two", 0)):
        footer.lines.set(key, Line(key), order=order)

    assert plain(footer.lines) == ["one", "two", "late"]


def test_only_a_line_that_changes_is_painted() -> None:
    footer = Footer()
    line = Line("before")
    line_handle = footer.lines.set("x", line, order=0)
    footer.painted.clear()

    line.text = "after"
    line_handle.invalidate()

    assert footer.painted == [*footer.lines.children]
    assert plain(footer.lines) == ["after"]


def test_a_replaced_footer_line_cannot_be_removed_by_its_old_handle() -> None:
    footer = Footer()
    old = footer.lines.set("x", Line("old"), order=0)
    new = footer.lines.set("x", Line("new"), order=0)

    old.remove()
    assert plain(footer.lines) == ["new"]

    new.remove()
    new.remove()
    assert plain(footer.lines) == []


def test_footer_lines_are_hidden_on_a_low_screen() -> None:
    footer = Footer(rows=7)
    footer.lines.set("x", Line("x"), order=0)
    assert plain(footer.lines) == []

    footer.rows = 8
    footer.lines.invalidate()

    assert plain(footer.lines) == ["x"]
