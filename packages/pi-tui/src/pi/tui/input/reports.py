"""Terminal reports: replies to queries, focus, size, colours, and the mouse.

Reports are not typed, so components never receive them as keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

from pi.base.records import Record


class DeviceAttributes(Record):
    """The reply to DA1, which every terminal supports.

    Earlier queries without a reply are unsupported.
    """

    codes: tuple[int, ...]


class KittyFlags(Record):
    """The terminal supports the Kitty keyboard protocol; these flags are active."""

    flags: int


class ModeReport(Record):
    """The reply to DECRQM: 0 unknown, 1 set, 2 reset, 3 always set, 4 always reset."""

    mode: int
    state: int


class CellSize(Record):
    """The size of a character cell in pixels."""

    width: int
    height: int


DEFAULT_CELL = CellSize(width=9, height=18)
"""The assumed size of a cell until the terminal reports it."""


class ScreenSize(Record):
    """The size of the screen in cells, reported after a change (mode 2048) or on request."""

    columns: int
    rows: int


class CursorPosition(Record):
    """The cursor position, from zero at the top left."""

    column: int
    row: int


class Colour(Record):
    """A colour of the terminal; each component is from 0 to 1."""

    slot: Literal["foreground", "background", "cursor"]
    red: float
    green: float
    blue: float


class PaletteColour(Record):
    """A colour of the palette; each component is from 0 to 1."""

    index: int
    red: float
    green: float
    blue: float


class ColourScheme(Record):
    """Whether the terminal is dark or light, on request or after a change."""

    scheme: Literal["dark", "light"]


class FocusReport(Record):
    """The terminal window gained or lost the focus."""

    gained: bool


class ProgramStatusSupport(Record):
    """The terminal shows what programs report about themselves (OSC 7501)."""


class OtherReply(Record):
    """An unknown report."""

    data: str


Reply: TypeAlias = (
    DeviceAttributes
    | KittyFlags
    | ModeReport
    | CellSize
    | ScreenSize
    | CursorPosition
    | Colour
    | PaletteColour
    | ColourScheme
    | FocusReport
    | ProgramStatusSupport
    | OtherReply
)

_SLOTS: dict[str, Literal["foreground", "background", "cursor"]] = {
    "10": "foreground",
    "11": "background",
    "12": "cursor",
}


def parse_reply(data: str) -> Reply | None:
    """Parse a complete escape sequence; None if it is a key."""
    if data[1:2] in "]P_^X":
        if data.startswith("\x1b]7501;?"):
            return ProgramStatusSupport()
        return _colour(data) or _palette_colour(data) or OtherReply(data=data)
    for pattern, build in _FORMS.get(data[-1], ()):
        if match := re.fullmatch(pattern, data):
            return build(match)
    return OtherReply(data=data) if re.match(_NEVER_A_KEY, data) else None


def _colour(data: str) -> Colour | None:
    if match := re.fullmatch(_COLOUR, data):
        parts: tuple[str, ...] = match.group(2, 3, 4)
    elif match := re.fullmatch(_SHORT_COLOUR, data):
        digits = match[2]
        size = len(digits) // 3
        parts = tuple(digits[start : start + size] for start in range(0, len(digits), size))
    else:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in parts)
    return Colour(slot=_SLOTS[match[1]], red=red, green=green, blue=blue)


def _palette_colour(data: str) -> PaletteColour | None:
    match = re.fullmatch(_PALETTE_COLOUR, data)
    if match is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in match.group(2, 3, 4))
    return PaletteColour(index=int(match[1]), red=red, green=green, blue=blue)


_HEX = r"([0-9a-fA-F]{1,4})"
_COLOUR = rf"\x1b\](1[012]);rgba?:{_HEX}/{_HEX}/{_HEX}(?:/[0-9a-fA-F]{{1,4}})?(?:\x07|\x1b\\)"
_PALETTE_COLOUR = (
    rf"\x1b\]4;(\d{{1,3}});rgba?:{_HEX}/{_HEX}/{_HEX}(?:/[0-9a-fA-F]{{1,4}})?(?:\x07|\x1b\\)"
)
_SHORT_COLOUR = r"\x1b\](1[012]);#((?:[0-9a-fA-F]{3}){1,4})(?:\x07|\x1b\\)"
"""The form of older terminals, with one to four digits per component."""

_NEVER_A_KEY = r"\x1b\[(?:[<=>?]|M|[0-9;]*[ -#%-/])"
"""Private parameters, old mouse reports, or intermediates except rxvt's ``$``."""

_Form: TypeAlias = tuple[str, Callable[[re.Match[str]], Reply]]
"""A pattern, compiled on first use, and the function that creates the reply."""


def _form(pattern: str, build: Callable[[re.Match[str]], Reply]) -> _Form:
    return r"\x1b\[" + pattern, build


_OTHER = _form(r"[\d;:]*[tnxy]", lambda match: OtherReply(data=match[0]))

_FORMS: dict[str, tuple[_Form, ...]] = {
    "I": (_form("I", lambda _: FocusReport(gained=True)),),
    "O": (_form("O", lambda _: FocusReport(gained=False)),),
    "c": (_form(r"\?([\d;]*)c", lambda match: DeviceAttributes(codes=_numbers(match[1]))),),
    "u": (_form(r"\?(\d+)u", lambda match: KittyFlags(flags=int(match[1]))),),
    "y": (
        _form(
            r"\?(\d+);(\d)\$y",
            lambda match: ModeReport(mode=int(match[1]), state=int(match[2])),
        ),
        _OTHER,
    ),
    "t": (
        _form(
            r"6;(\d+);(\d+)t",
            lambda match: CellSize(height=int(match[1]), width=int(match[2])),
        ),
        _form(
            r"(?:8|48);(\d+);(\d+)(?:;\d+;\d+)?t",
            lambda match: ScreenSize(rows=int(match[1]), columns=int(match[2])),
        ),
        _OTHER,
    ),
    "R": (
        # A modified F3 looks the same: CSI 1;2R to CSI 1;16R are keys. We never query in row one.
        _form(
            r"(?!1;(?:[2-9]|1[0-6])R)(\d+);(\d+)R",
            lambda match: CursorPosition(row=int(match[1]) - 1, column=int(match[2]) - 1),
        ),
    ),
    "n": (
        _form(
            r"\?997;([12])n",
            lambda match: ColourScheme(scheme="dark" if match[1] == "1" else "light"),
        ),
        _OTHER,
    ),
    "x": (_OTHER,),
}
"""Forms of replies after ``CSI``, by their last character."""


def _numbers(parameters: str) -> tuple[int, ...]:
    return tuple(int(number) for number in parameters.split(";") if number)


Action: TypeAlias = Literal["press", "release", "move", "drag", "wheel"]
Button: TypeAlias = Literal["left", "middle", "right", "none"]

_REPORT = r"\x1b\[<(\d{1,5});(\d{1,5});(\d{1,5})([Mm])"
_BUTTONS: tuple[Button, ...] = ("left", "middle", "right", "none")
_SHIFT, _ALT, _CTRL, _MOTION, _WHEEL, _EXTRA = 4, 8, 16, 32, 64, 128


class MouseReport(Record):
    """A mouse event, in cells of the screen from zero at the top left."""

    action: Action
    button: Button
    x: int
    y: int
    shift: bool = False
    alt: bool = False
    ctrl: bool = False
    wheel_delta: int = 0
    """Positive is down. Horizontal wheels have zero."""


def parse_mouse(data: str) -> MouseReport | None:
    """Parse a mouse report in the SGR form ``CSI < button ; column ; row M`` or ``m``, or None."""
    match = re.fullmatch(_REPORT, data)
    if match is None:
        return None
    code = int(match[1])
    button: Button = "none" if code & (_WHEEL | _EXTRA) else _BUTTONS[code & 3]
    return MouseReport(
        action=_action(code, button, released=match[4] == "m"),
        button=button,
        x=max(int(match[2]) - 1, 0),
        y=max(int(match[3]) - 1, 0),
        shift=bool(code & _SHIFT),
        alt=bool(code & _ALT),
        ctrl=bool(code & _CTRL),
        wheel_delta=(-1, 1, 0, 0)[code & 3] if code & _WHEEL else 0,
    )


def _action(code: int, button: Button, *, released: bool) -> Action:
    if code & _WHEEL:
        return "wheel"
    if code & _MOTION:
        return "move" if button == "none" else "drag"
    return "release" if released else "press"
