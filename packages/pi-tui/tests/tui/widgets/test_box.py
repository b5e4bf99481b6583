from __future__ import annotations

import pytest

from pi.tui.style import Style, painter
from pi.tui.widgets.markdown.widget import Markdown
from pi.tui.widgets.text import Box, Text


def test_children_share_one_background() -> None:
    box = Box(1, 1, lambda row: f"<{row}>")
    box.add_child(Text("a", 0, 0))
    box.add_child(Text("b", 0, 0))

    assert box.render(4) == ["<    >", "< a  >", "< b  >", "<    >"]


def test_an_empty_box_takes_no_rows() -> None:
    box = Box()
    child = Text("a", 0, 0)
    box.add_child(child)
    box.render(5)

    box.remove_child(child)

    assert (box.render(5), box.children) == ([], ())


@pytest.mark.behaviour("styles-close-on-each-line")
def test_a_style_inside_does_not_end_the_background() -> None:
    box = Box(0, 0, painter(Style(background=4)))
    box.add_child(Text("\x1b[41mred\x1b[0m", 0, 0))

    assert box.render(5) == ["\x1b[44m\x1b[41mred\x1b[49m\x1b[44m  \x1b[49m"]


def test_rows_are_redrawn_only_when_a_child_or_the_background_changed() -> None:
    box, child = Box(), Text("a")
    box.add_child(child)
    first = box.render(5)
    assert box.render(5) is first

    child.set_text("b")
    assert box.render(5) == ["", "", "  b", "", ""]

    second = box.render(5)
    box.set_background(None)
    assert box.render(5) is not second


def test_invalidate_redraws_the_box_and_clear_empties_it() -> None:
    box = Box(0, 0)
    box.add_child(Text("a", 0, 0))
    first = box.render(5)

    box.invalidate()
    assert box.render(5) is not first
    box.clear()
    assert box.render(5) == []


def test_the_live_region_of_a_child_is_passed_on() -> None:
    box = Box(1, 2)
    box.add_child(Markdown("one\n\ntwo", 0, 0, is_streaming=True))
    box.render(10)
    assert (box.live_region_start, box.commit_safe_end) == (2 + 0, None)

    still = Box()
    still.add_child(Text("a"))
    still.render(10)
    assert still.live_region_start is None
