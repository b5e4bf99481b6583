from __future__ import annotations

from pi.base.records import replace
from pi.modes.interactive.early_settings import EarlySettings, EarlyTerminal
from pi.modes.interactive.layout import apply_terminal_settings
from pi.tui.style import ColourDepth
from pi.tui.terminal import Capabilities

FOUND = Capabilities(images="kitty", hyperlinks=True)


def test_without_settings_the_detected_capabilities_are_unchanged() -> None:
    assert apply_terminal_settings(FOUND, EarlySettings()) is FOUND


def test_settings_override_detected_capabilities() -> None:
    terminal = EarlyTerminal(hyperlinks=False, true_color=True, images=False)
    settings = EarlySettings(terminal=terminal, show_hardware_cursor=True)

    assert apply_terminal_settings(FOUND, settings) == replace(
        FOUND, hyperlinks=False, images=None, colours=ColourDepth.TRUE, hardware_cursor=True
    )


def test_a_terminal_without_colours_gets_none_despite_the_setting() -> None:
    capabilities = replace(FOUND, colours=ColourDepth.NONE)
    settings = EarlySettings(terminal=EarlyTerminal(true_color=True))

    assert apply_terminal_settings(capabilities, settings).colours == ColourDepth.NONE
