"""Keys as terminals have always sent them: control bytes, ESC prefixes, VT and rxvt sequences."""

from __future__ import annotations

import re

from pi.tui.input.stroke import ALT, CTRL, SHIFT, Reading, Stroke, modifiers_of

BY_LETTER = {
    "A": "up",
    "B": "down",
    "C": "right",
    "D": "left",
    "E": "clear",
    "F": "end",
    "H": "home",
    "P": "f1",
    "Q": "f2",
    "R": "f3",
    "S": "f4",
}
"""Final letters of ``CSI`` and ``SS3`` sequences."""

BY_NUMBER = {
    1: "home",
    2: "insert",
    3: "delete",
    4: "end",
    5: "pageUp",
    6: "pageDown",
    7: "home",
    8: "end",
    **{11 + number: f"f{number + 1}" for number in range(5)},
    **{17 + number: f"f{number + 6}" for number in range(5)},
    23: "f11",
    24: "f12",
}
"""Numbers before the ``~`` of a ``CSI`` sequence."""

_KEYPAD = {
    "M": Stroke("enter"),
    "I": Stroke("tab"),
    **{chr(ord("p") + digit): Stroke(str(digit), text=str(digit)) for digit in range(10)},
    **{code: Stroke(key, text=key) for code, key in zip("jklmnoX", "*+,-./=", strict=True)},
}
"""Final letters of ``SS3`` for the keypad in application mode."""

_RXVT_ARROWS = dict(zip("abcd", ("up", "down", "right", "left"), strict=True))
_RXVT_MODIFIERS = {"~": 0, "$": SHIFT, "^": CTRL, "@": CTRL | SHIFT}

_CONTROLS: dict[str, Stroke] = {
    "\x00": Stroke("space", CTRL, also=(("@", CTRL), ("2", CTRL))),
    # Backspace of old terminals, and Ctrl+Backspace or Ctrl+H of others: deleting one character
    # is the harmless reading. The decoder knows the terminals where it is Ctrl+Backspace.
    "\x08": Stroke("backspace"),
    "\t": Stroke("tab"),
    "\r": Stroke("enter"),
    "\x1b": Stroke("escape"),
    "\x1c": Stroke("\\", CTRL, also=(("4", CTRL),)),
    "\x1d": Stroke("]", CTRL, also=(("5", CTRL),)),
    "\x1e": Stroke("^", CTRL, also=(("6", CTRL),)),
    "\x1f": Stroke("-", CTRL, also=(("_", CTRL), ("/", CTRL), ("7", CTRL))),
    "\x7f": Stroke("backspace"),
}

_LINUX_CONSOLE = {f"\x1b[[{'ABCDE'[number]}": Stroke(f"f{number + 1}") for number in range(5)}

_CSI = r"\x1b\[(?P<number>\d*)(?:;(?P<modifiers>\d+))?(?P<final>[A-Za-z~$^@])"
_SS3 = r"\x1bO(?P<modifiers>\d?)(?P<final>[A-Za-z])"


def parse_legacy(data: str) -> Stroke | None:
    """The stroke that ``data`` stands for in the old encodings, or nothing."""
    if len(data) == 1:
        return _character(data)
    if data[0] != "\x1b":
        return None
    if len(data) == 2 or data[1] == "\x1b":  # rxvt and PuTTY put ESC before sequences too
        inner = parse_legacy(data[1:])
        return _with_alt(inner) if inner else None
    if sequence := re.fullmatch(_CSI, data):
        return _csi(sequence)
    if sequence := re.fullmatch(_SS3, data):
        return _ss3(sequence)
    return _LINUX_CONSOLE.get(data)


def _character(char: str) -> Stroke | None:
    if found := _CONTROLS.get(char):
        return found
    if char < " ":
        return Stroke(chr(ord(char) + 96), CTRL)
    if char == " ":
        return Stroke("space", text=" ")
    if "\x7f" < char < "\xa0":
        return None
    lower = char.lower()
    if lower != char and len(lower) == 1:
        return Stroke(lower, SHIFT, text=char)
    return Stroke(char, text=char)


def _with_alt(stroke: Stroke) -> Stroke:
    also: tuple[Reading, ...] = tuple((key, bits | ALT) for key, bits in stroke.also)
    return Stroke(stroke.key, stroke.modifiers | ALT, also=also)


def _csi(sequence: re.Match[str]) -> Stroke | None:
    number, final = sequence["number"], sequence["final"]
    modifiers = modifiers_of(sequence["modifiers"] or "")
    if final in _RXVT_MODIFIERS:
        key = BY_NUMBER.get(int(number or 0))
        return Stroke(key, modifiers | _RXVT_MODIFIERS[final]) if key else None
    if number not in ("", "1"):
        return None
    if final == "Z":
        return Stroke("tab", modifiers | SHIFT)
    if final in _RXVT_ARROWS:
        return Stroke(_RXVT_ARROWS[final], SHIFT)
    key = BY_LETTER.get(final)
    return Stroke(key, modifiers) if key else None


def _ss3(sequence: re.Match[str]) -> Stroke | None:
    final = sequence["final"]
    if final in _RXVT_ARROWS:
        return Stroke(_RXVT_ARROWS[final], CTRL)
    if final in _KEYPAD:
        return _KEYPAD[final]
    key = BY_LETTER.get(final)
    return Stroke(key, modifiers_of(sequence["modifiers"])) if key else None
