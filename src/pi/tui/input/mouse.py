"""Mouse reports in the SGR form: ``CSI < button ; column ; row M`` or ``m``."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from pi.base.records import Record

Action: TypeAlias = Literal["press", "release", "move", "drag", "wheel"]
Button: TypeAlias = Literal["left", "middle", "right", "none"]

_REPORT = r"\x1b\[<(\d{1,5});(\d{1,5});(\d{1,5})([Mm])"
_BUTTONS: tuple[Button, ...] = ("left", "middle", "right", "none")
_SHIFT, _ALT, _CTRL, _MOTION, _WHEEL, _EXTRA = 4, 8, 16, 32, 64, 128


class MouseReport(Record):
    """What the mouse did, in cells of the screen from zero at the top left."""

    action: Action
    button: Button
    x: int
    y: int
    shift: bool = False
    alt: bool = False
    ctrl: bool = False
    wheel_delta: int = 0
    """Down is positive. Sideways wheels say zero."""


def parse_mouse(data: str) -> MouseReport | None:
    """The mouse report in ``data``, or nothing."""
    found = re.fullmatch(_REPORT, data)
    if found is None:
        return None
    code = int(found[1])
    button: Button = "none" if code & (_WHEEL | _EXTRA) else _BUTTONS[code & 3]
    return MouseReport(
        action=_action(code, button, released=found[4] == "m"),
        button=button,
        x=max(int(found[2]) - 1, 0),
        y=max(int(found[3]) - 1, 0),
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
