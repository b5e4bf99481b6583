"""Keys of the session tree."""

from __future__ import annotations

import pytest

from pi.modes.interactive.dialogs.tree.nodes import ROOT
from pi.modes.interactive.dialogs.tree.selector import TreeSelector
from pi.modes.interactive.dialogs.tree.view import TreeView
from pi.tui.component import CURSOR_MARKER
from pi.tui.input.decoder import PASTE_END, PASTE_START
from pi.tui.input.keymap import Keymap
from pi.tui.text.ansi import strip_sequences
from tests.modes.interactive.dialogs.tree.samples import tree
from tests.modes.interactive.fake_screen import plain_theme, sequence

SAMPLE = tree(*((f"u{n}", n - 1 if n else ROOT) for n in range(20)), leaf=19)


class Watched:
    """A selector and its calls."""

    def __init__(self, rows: int = 5) -> None:
        self.view = TreeView(SAMPLE)
        self.calls: list[tuple[str, ...]] = []
        self.selector = TreeSelector(
            self.view,
            plain_theme(),
            Keymap(),
            rows=lambda: rows,
            on_pick=lambda id: self.calls.append(("pick", id)),
            on_cancel=lambda: self.calls.append(("cancel",)),
            on_label=lambda id, label: self.calls.append(("label", id, label)),
        )

    def press(self, *keys: str) -> None:
        for key in keys:
            self.selector.handle_input(sequence(key))

    @property
    def selected(self) -> str:
        assert self.view.selected is not None
        return self.view.selected.id

    def rows(self) -> list[str]:
        return [strip_sequences(row).rstrip() for row in self.selector.render(40)]


def test_left_and_right_move_by_pages_and_up_and_down_wrap_around() -> None:
    watched = Watched()
    watched.press("left")
    assert watched.selected == "u14"
    watched.press("right", "down")
    assert watched.selected == "u0"
    watched.press("up")
    assert watched.selected == "u19"


def test_the_selected_row_is_in_the_middle() -> None:
    watched = Watched()
    watched.press("left", "left")
    assert watched.rows() == [
        " > Type to search",
        "   • user: u7",
        "   • user: u8",
        " → • user: u9",
        "   • user: u10",
        "   • user: u11",
        "   (10/20) [default]",
    ]


@pytest.mark.parametrize(
    ("key", "mode"),
    [
        ("ctrl+t", "no-tools"),
        ("ctrl+u", "user-only"),
        ("ctrl+l", "labeled-only"),
        ("ctrl+a", "all"),
        ("ctrl+d", "default"),
        ("alt+d", "default"),
        ("alt+t", "no-tools"),
        ("alt+u", "user-only"),
        ("alt+l", "labeled-only"),
        ("alt+a", "all"),
        ("ctrl+o", "no-tools"),
        ("ctrl+shift+o", "all"),
    ],
)
def test_every_filter_has_its_keys(key: str, mode: str) -> None:
    watched = Watched()
    watched.view.filter("user-only" if mode == "default" else "default")
    watched.press(key)
    assert watched.view.mode == mode


@pytest.mark.behaviour("selectors")
def test_keys_in_an_empty_list_do_nothing_and_ctrl_c_closes_the_tree() -> None:
    watched = Watched()
    watched.press("ctrl+l", "up", "down", "left", "enter", "L", "ctrl+left", "ctrl+c")
    assert watched.calls == [("cancel",)]
    assert watched.rows()[1] == "   No entries"


def test_backspace_shortens_the_query() -> None:
    watched = Watched()
    watched.press("u", "1", "9", "backspace")
    assert watched.view.query == "u1"
    watched.press("enter")
    assert watched.calls == [("pick", "u19")]


def test_a_label_is_typed_below_the_list_and_can_be_cancelled() -> None:
    watched = Watched(rows=2)
    watched.press("L", "x", "escape")
    watched.press("L", "y")
    assert watched.rows() == [
        " > Type to search",
        "   • user: u18",
        " → • user: u19",
        "   (20/20) [default]",
        "",
        " Label: y",
    ]
    watched.press("enter")
    assert watched.calls == [("label", "u19", "y")]


@pytest.mark.behaviour("cursor-at-the-insertion-point")
def test_the_cursor_is_in_the_field_that_is_typed_into() -> None:
    watched = Watched()
    watched.selector.focused = True
    watched.press("u", "1")
    assert _rows_with_cursor(watched) == [" > u1"]
    watched.press("escape", "L", "y")
    assert _rows_with_cursor(watched) == [" Label: y"]


def _rows_with_cursor(watched: Watched) -> list[str]:
    rows = watched.selector.render(40)
    return [strip_sequences(row).rstrip() for row in rows if CURSOR_MARKER in row]


def test_pasted_text_is_added_to_the_query() -> None:
    watched = Watched()
    watched.press(f"{PASTE_START}u12{PASTE_END}")
    assert (watched.view.query, watched.selected) == ("u12", "u12")
