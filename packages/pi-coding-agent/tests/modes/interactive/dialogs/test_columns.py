"""Rows in columns."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pi.modes.interactive.dialogs.columns import spread, tab_row
from pi.tui.text.width import visible_width


def test_the_right_column_is_right_aligned_and_the_left_one_is_truncated_first() -> None:
    assert spread("left", "right", 20) == "left           right"
    assert spread("a rather long left", "right", 20) == "a rather lon…  right"
    assert spread("a rather long left", "right", 12) == "a rather lo…"
    assert spread("left", "", 20) == "left"


@given(st.text(max_size=40), st.text("ab漢", max_size=10), st.integers(1, 60))
def test_rows_never_are_too_wide(left: str, right: str, width: int) -> None:
    printable = "".join(char for char in left if char.isprintable())
    assert visible_width(spread(printable, right, width)) <= width


def _tabs(open_tab: str, width: int) -> str:
    tabs = ("All", "anthropic", "openai", "xai")
    return tab_row(tabs, open_tab, width, chosen=str, others=str)


def test_tabs_keep_their_order_and_the_open_tab_is_always_visible() -> None:
    assert _tabs("openai", 40) == "All  anthropic  [openai]  xai"
    assert _tabs("All", 20) == "[All]  anthropic  o…"
    assert _tabs("openai", 20) == "… [openai]  xai"
    assert _tabs("xai", 20) == "… openai  [xai]"
    assert _tabs("anthropic", 5) == "… [a…"
