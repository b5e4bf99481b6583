"""For drawing and scrolling see ``tests/screens/test_fullscreen.py``."""

from __future__ import annotations

from pi.modes.interactive.early_settings import EarlySettings
from pi.modes.interactive.fullscreen import Fullscreen
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_selector import built_in
from pi.tui.input.keymap import Keymap
from pi.tui.testing import VirtualTerminal
from pi.tui.tui import TUI
from pi.tui.widgets.text import Text


def fullscreen(*, is_typing: bool) -> Fullscreen:
    tui = TUI(VirtualTerminal(), env={}, mode="fullscreen")
    content = Text("▌ one\n▌ more of it\n\nanswer\n\n▌ two", 0, 0)
    return Fullscreen(
        tui,
        Theme(built_in("dark")),
        Keymap(),
        content,
        EarlySettings(),
        is_typing=lambda: is_typing,
    )


def test_the_first_rows_of_messages_are_anchors() -> None:
    made = fullscreen(is_typing=True)

    made.view.render_in(40, 3)

    assert made.view.anchors == [0, 5]


def test_scroll_keys_are_left_to_an_open_dialog() -> None:
    page_up = "\x1b[5~"

    assert fullscreen(is_typing=False)._listen(page_up) is None
    assert fullscreen(is_typing=True)._listen(page_up) is not None
