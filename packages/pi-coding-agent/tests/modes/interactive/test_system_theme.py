"""The theme in the colours of the terminal is readable on every terminal."""

from __future__ import annotations

import pytest

from pi.modes.interactive.system_theme import MIN_CONTRAST, system_palette
from pi.modes.interactive.theme_file import BACKGROUNDS, REQUIRED, TOKENS
from pi.tui.colour_spaces import Rgb, contrast
from pi.tui.style import palette_rgb
from pi.tui.terminal_colours import TerminalColours

XTERM = tuple(palette_rgb(index) for index in range(16))
SOLARIZED: tuple[Rgb, ...] = (
    (7, 54, 66), (220, 50, 47), (133, 153, 0), (181, 137, 0),
    (38, 139, 210), (211, 54, 130), (42, 161, 152), (238, 232, 213),
    (0, 43, 54), (203, 75, 22), (88, 110, 117), (101, 123, 131),
    (131, 148, 150), (108, 113, 196), (147, 161, 161), (253, 246, 227),
)  # fmt: skip
LINES = ("borderMuted", "mdHr", "thinkingOff", "scrollbarTrack")


def rgb(colour: object) -> Rgb:
    assert isinstance(colour, str)
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue


@pytest.mark.parametrize(
    ("foreground", "background", "palette"),
    [
        ((229, 229, 229), (0, 0, 0), XTERM),
        ((0, 0, 0), (255, 255, 255), XTERM),
        ((131, 148, 150), (0, 43, 54), SOLARIZED),
        ((101, 123, 131), (253, 246, 227), SOLARIZED),
        ((128, 128, 128), (90, 90, 90), XTERM),
        ((200, 200, 200), (40, 42, 54), ((0, 0, 0),) * 16),
    ],
)
def test_every_text_is_readable_on_every_background(
    foreground: Rgb, background: Rgb, palette: tuple[Rgb, ...]
) -> None:
    theme = system_palette(
        TerminalColours(foreground=foreground, background=background, palette=palette)
    )
    grounds = [background, *(rgb(theme.colours[token]) for token in BACKGROUNDS)]
    texts = [token for token in TOKENS if token not in (*BACKGROUNDS, *LINES)]
    weak = {
        token: round(worst, 2)
        for token in texts
        if (worst := min(contrast(rgb(theme.colours[token]), ground) for ground in grounds))
        < MIN_CONTRAST - 0.05
    }
    # A medium grey leaves no room: nothing is readable on its lighter and darker backgrounds alike.
    assert weak == {} or background == (90, 90, 90)


def test_without_reports_it_has_numbers_and_no_backgrounds() -> None:
    colours = system_palette(None).colours
    assert set(REQUIRED) <= colours.keys()
    assert all(colours[token] is None for token in BACKGROUNDS)
    assert (colours["error"], colours["success"], colours["text"]) == (1, 2, None)
