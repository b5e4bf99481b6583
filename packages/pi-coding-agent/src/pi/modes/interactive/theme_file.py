"""Theme files: JSON with variables and one colour per token. Pure."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

import msgspec

from pi.base.errors import PiError
from pi.base.records import UNREADABLE, Record
from pi.tui.style import Colour, palette_rgb

Colours: TypeAlias = dict[str, Colour | None]
"""The colour of every token; ``None`` is the terminal's default."""


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


BACKGROUNDS = frozenset(
    _names(
        "selectedBg searchMatchBg userMessageBg customMessageBg toolPendingBg toolSuccessBg "
        "toolErrorBg toolDiffAddedBg toolDiffRemovedBg toolDiffAddedWordBg toolDiffRemovedWordBg"
    )
)
"""Tokens that are background colours."""

REQUIRED = _names(
    "accent border borderAccent borderMuted success error warning muted dim text thinkingText "
    "selectedBg userMessageBg userMessageText customMessageBg customMessageText "
    "customMessageLabel toolPendingBg toolSuccessBg toolErrorBg toolTitle toolOutput mdHeading "
    "mdLink mdLinkUrl mdCode mdCodeBlock mdCodeBlockBorder mdQuote mdQuoteBorder mdHr "
    "mdListBullet toolDiffAdded toolDiffRemoved toolDiffContext syntaxComment syntaxKeyword "
    "syntaxFunction syntaxVariable syntaxString syntaxNumber syntaxType syntaxOperator "
    "syntaxPunctuation thinkingOff thinkingMinimal thinkingLow thinkingMedium thinkingHigh "
    "thinkingXhigh bashMode"
)
OPTIONAL = {
    "scrollbarTrack": "borderMuted",
    "scrollbarThumb": "dim",
    "searchMatchBg": "selectedBg",
    "searchMatchText": "text",
    "thinkingMax": "thinkingXhigh",
}
"""Optional tokens, with the token used instead."""

TINTS = {
    "toolDiffAddedBg": ("toolDiffAdded", 0.13),
    "toolDiffRemovedBg": ("toolDiffRemoved", 0.13),
    "toolDiffAddedWordBg": ("toolDiffAdded", 0.32),
    "toolDiffRemovedWordBg": ("toolDiffRemoved", 0.32),
}
"""Optional backgrounds, with the colour that tints the background of tools, and how much."""

TOKENS = (*REQUIRED, *OPTIONAL, *TINTS)
"""All tokens of a theme."""
FIELDS = ("$schema", "name", "appearance", "vars", "colors", "export")
"""The fields of a theme file."""
RESERVED = "system"
"""The name of the theme in the colours of the terminal."""

_HEX = re.compile(r"#(?:[0-9a-fA-F]{3}){1,2}")
_NUMBER = r"([+-]?\d+(?:\.\d+)?)"
_OKLCH = re.compile(rf"oklch\(\s*{_NUMBER}%\s+{_NUMBER}\s+{_NUMBER}(?:deg)?\s*\)")
_OKHSL = re.compile(rf"okhsl\(\s*{_NUMBER}(?:deg)?\s+{_NUMBER}%\s+{_NUMBER}%\s*\)")


def parse_colour(text: str) -> str | None:
    """Return ``#rrggbb`` of a colour in any notation; ``None`` if it is none."""
    if _HEX.fullmatch(text):
        return text if len(text) == 7 else "#" + "".join(digit * 2 for digit in text[1:])
    if "(" not in text:
        return None
    from pi.tui.colour_spaces import okhsl, oklch  # lazy: few themes use them

    if match := _OKLCH.fullmatch(text):
        lightness, chroma, hue = map(float, match.groups())
        rgb = oklch(lightness / 100, chroma, hue)
    elif match := _OKHSL.fullmatch(text):
        hue, saturation, lightness = map(float, match.groups())
        rgb = okhsl(hue, saturation / 100, lightness / 100)
    else:
        return None
    return "#" + bytes(rgb).hex()


class InvalidTheme(PiError):
    """A theme file is invalid."""


class Palette(Record):
    """A theme with all its variables resolved."""

    name: str
    colours: Colours
    appearance: Literal["dark", "light"] | None = None
    """The kind of terminal that the theme is made for, if the file says it."""


def read_theme(content: bytes, source: str) -> Palette:
    """Parse a theme file. Raises ``InvalidTheme`` with the error and ``source``."""
    try:
        document = msgspec.json.decode(content)
    except UNREADABLE as error:
        raise InvalidTheme(f"{source} is not JSON: {error}") from error
    match document:
        case {"name": str() as name, "colors": dict() as colours}:
            variables = document.get("vars", {})
        case _:
            raise InvalidTheme(
                f'{source} is not a theme: it needs a "name" and "colors".',
                hint="Copy a theme that works and change it.",
            )
    if not name or "/" in name:
        raise InvalidTheme(f'{source}: the name of a theme must not be empty or hold "/".')
    if name == RESERVED:
        raise InvalidTheme(f'{source}: the name "{RESERVED}" is reserved.')
    appearance = document.get("appearance")
    if appearance not in (None, "dark", "light"):
        raise InvalidTheme(f'{source}: "appearance" is neither "dark" nor "light".')
    _refuse_unknown("field", document, FIELDS, source)
    _refuse_unknown("color", colours, TOKENS, source)
    if missing := [token for token in REQUIRED if token not in colours]:
        raise InvalidTheme(f"{source}: these colors are missing: {', '.join(missing)}.")
    resolve = _Resolver(variables if isinstance(variables, dict) else {}, source)
    resolved = {token: resolve(value, token) for token, value in colours.items()}
    for token, stand_in in OPTIONAL.items():
        resolved.setdefault(token, resolved[stand_in])
    for token, (colour, share) in TINTS.items():
        resolved.setdefault(token, _mix_colours(resolved["toolPendingBg"], resolved[colour], share))
    return Palette(name=name, colours=resolved, appearance=appearance)


def _refuse_unknown(kind: str, values: dict[str, Any], names: tuple[str, ...], source: str) -> None:
    """Raise ``InvalidTheme`` for names that no theme has."""
    if unknown := [name for name in values if name not in names]:
        from pi.base.fuzzy import did_you_mean  # lazy: for mistakes only

        raise InvalidTheme(
            f"{source}: unknown {kind} {', '.join(unknown)}.", hint=did_you_mean(unknown[0], names)
        )


def _mix_colours(base: Colour | None, tint: Colour | None, share: float) -> Colour | None:
    """Mixes two colours; ``None`` if one of them is the terminal's own."""
    if base is None or tint is None:
        return None
    pairs = zip(_rgb(base), _rgb(tint), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _rgb(colour: Colour) -> tuple[int, int, int]:
    if isinstance(colour, int):
        return palette_rgb(colour)
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue


def theme_name(content: bytes) -> str:
    """Return the name in a theme file; empty if it cannot be read."""
    try:
        return msgspec.json.decode(content, type=_Named).name
    except UNREADABLE:
        return ""


class _Named(Record):
    name: str


class _Resolver:
    """Resolves variable names to a colour."""

    def __init__(self, variables: dict[str, Any], source: str) -> None:
        self._variables = variables
        self._source = source

    def __call__(self, value: object, token: str) -> Colour | None:
        seen: list[str] = []
        while isinstance(value, str) and value in self._variables:
            if value in seen:
                chain = " → ".join([*seen, value])
                raise InvalidTheme(f'{self._source}: "{token}" is a circular reference: {chain}.')
            seen.append(value)
            value = self._variables[value]
        match value:
            case "":
                return None
            case str() if (colour := parse_colour(value)) is not None:
                return colour
            case int() if not isinstance(value, bool) and 0 <= value <= 255:
                return value
        raise InvalidTheme(
            f'{self._source}: "{token}" is {value!r}, which is not a colour.',
            hint='Use "#rrggbb", "#rgb", "oklch(L% C H)", "okhsl(H S% L%)", a number from 0 to 255,'
            ' the name of a var, or "" for the default.',
        )
