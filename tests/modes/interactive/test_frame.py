from __future__ import annotations

from pi.base.records import replace
from pi.modes.interactive.early_settings import EarlySettings, EarlyTerminal
from pi.modes.interactive.layout import apply_terminal_settings
from pi.tui.style import ColourDepth
from pi.tui.terminal import Capabilities

FOUND = Capabilities(images="kitty", hyperlinks=True)


def test_without_requests_the_terminal_is_as_it_was_found() -> None:
    assert apply_terminal_settings(FOUND, EarlySettings()) is FOUND


def test_settings_beat_what_was_found() -> None:
    terminal = EarlyTerminal(hyperlinks=False, true_color=True, images=False)
    settings = EarlySettings(terminal=terminal, show_hardware_cursor=True)

    assert apply_terminal_settings(FOUND, settings) == replace(
        FOUND, hyperlinks=False, images=None, colours=ColourDepth.TRUE, hardware_cursor=True
    )


def test_who_wants_no_colours_gets_none() -> None:
    found = replace(FOUND, colours=ColourDepth.NONE)
    settings = EarlySettings(terminal=EarlyTerminal(true_color=True))

    assert apply_terminal_settings(found, settings).colours == ColourDepth.NONE
