"""The theme ``system``, in the colours of the terminal itself. Pure.

Without the terminal's colours it uses their numbers and paints no backgrounds. With them, texts are
moved towards the foreground until they are readable on every background.
"""

from __future__ import annotations

from pi.modes.interactive.theme_file import (
    BACKGROUNDS,
    OPTIONAL,
    REQUIRED,
    RESERVED,
    TINTS,
    Colours,
    Palette,
)
from pi.tui.colour_spaces import Rgb, contrast, luminance, mixed
from pi.tui.terminal_colours import TerminalColours

MIN_CONTRAST = 4.5
_STEPS = 20
_RED, _GREEN, _YELLOW, _BLUE, _MAGENTA, _CYAN, _GREY = 1, 2, 3, 4, 5, 6, 8

_HUES = {
    "accent": _BLUE, "borderAccent": _BLUE, "mdLink": _BLUE, "mdListBullet": _BLUE,
    "syntaxFunction": _BLUE, "thinkingLow": _BLUE, "thinkingMedium": _CYAN,
    "success": _GREEN, "toolDiffAdded": _GREEN, "syntaxString": _GREEN, "bashMode": _GREEN,
    "error": _RED, "toolDiffRemoved": _RED, "thinkingMax": _RED,
    "warning": _YELLOW, "mdHeading": _YELLOW, "syntaxNumber": _YELLOW,
    "mdCode": _CYAN, "syntaxType": _CYAN,
    "customMessageLabel": _MAGENTA, "syntaxKeyword": _MAGENTA, "thinkingHigh": _MAGENTA,
    "thinkingXhigh": _MAGENTA,
}  # fmt: skip
"""The colour of the terminal for each coloured token."""
_SOFT = {
    "muted": 0.3, "toolOutput": 0.3, "mdQuote": 0.3, "thinkingText": 0.3, "toolDiffContext": 0.3,
    "syntaxOperator": 0.3, "syntaxPunctuation": 0.3, "syntaxComment": 0.4,
    "dim": 0.45, "mdLinkUrl": 0.45, "mdCodeBlockBorder": 0.45, "mdQuoteBorder": 0.45,
    "border": 0.45, "thinkingMinimal": 0.45, "scrollbarThumb": 0.45,
}  # fmt: skip
"""Tokens between foreground and background: the share of the background."""
_LINES = {"borderMuted": 0.75, "mdHr": 0.75, "thinkingOff": 0.75, "scrollbarTrack": 0.75}
"""The same for lines, which need no contrast of text."""
_PANELS = {
    "selectedBg": (_BLUE, 0.22), "searchMatchBg": (_YELLOW, 0.3), "userMessageBg": (None, 0.09),
    "customMessageBg": (_MAGENTA, 0.1), "toolPendingBg": (None, 0.05),
    "toolSuccessBg": (_GREEN, 0.08), "toolErrorBg": (_RED, 0.1),
    "toolDiffAddedBg": (_GREEN, 0.13), "toolDiffRemovedBg": (_RED, 0.13),
    "toolDiffAddedWordBg": (_GREEN, 0.28), "toolDiffRemovedWordBg": (_RED, 0.28),
}  # fmt: skip
"""Backgrounds: the colour that tints that of the terminal, and how much."""


def system_palette(colours: TerminalColours | None) -> Palette:
    """Return the theme in the colours of a terminal; ``None`` if it does not report them."""
    tokens = (*REQUIRED, *OPTIONAL, *TINTS)
    if colours is None:
        return Palette(name=RESERVED, colours={token: _number(token) for token in tokens})
    is_dark = luminance(colours.background) < luminance(colours.foreground)
    panels = {token: _panel(token, colours) for token in _PANELS}
    grounds = [colours.background, *panels.values()]
    resolved: Colours = {}
    for token in tokens:
        resolved[token] = _written(
            panels[token] if token in BACKGROUNDS else _text(token, colours, grounds)
        )
    return Palette(name=RESERVED, colours=resolved, appearance="dark" if is_dark else "light")


def _number(token: str) -> int | None:
    """Return a colour of the terminal by its number; ``None`` for its own."""
    if token in BACKGROUNDS:
        return None
    return _HUES.get(token, _GREY if token in _SOFT or token in _LINES else None)


def _panel(token: str, colours: TerminalColours) -> Rgb:
    hue, share = _PANELS[token]
    tint = colours.foreground if hue is None else colours.palette[hue]
    return mixed(colours.background, tint, share)


def _text(token: str, colours: TerminalColours, grounds: list[Rgb]) -> Rgb:
    if token in _LINES:
        return mixed(colours.foreground, colours.background, _LINES[token])
    if token in _HUES:
        colour = colours.palette[_HUES[token]]
    else:
        colour = mixed(colours.foreground, colours.background, _SOFT.get(token, 0))
    return readable(colour, grounds)


def readable(colour: Rgb, grounds: list[Rgb]) -> Rgb:
    """Return the colour nearest to ``colour`` that is readable on all of these backgrounds.

    It is moved towards white or black, whichever is readable.
    """
    worst = {end: min(contrast(end, ground) for ground in grounds) for end in _ENDS}
    end = max(_ENDS, key=lambda end: worst[end])
    for step in range(_STEPS + 1):
        moved = mixed(colour, end, step / _STEPS)
        if all(contrast(moved, ground) >= MIN_CONTRAST for ground in grounds):
            return moved
    return end


_ENDS: tuple[Rgb, Rgb] = ((255, 255, 255), (0, 0, 0))


def _written(colour: Rgb) -> str:
    return "#" + bytes(colour).hex()
