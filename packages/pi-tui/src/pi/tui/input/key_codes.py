"""Key encodings: legacy control bytes and sequences, Kitty, and modifyOtherKeys."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from pi.base.records import Record, replace

SHIFT, ALT, CTRL, SUPER, HYPER, META = (1 << bit for bit in range(6))
"""Modifiers as bits of the number that terminals send (minus one)."""

LOCKS = 64 | 128
"""Caps Lock and Num Lock: the state of the keyboard, not part of a key binding."""

Phase: TypeAlias = Literal["press", "repeat", "release"]

Reading: TypeAlias = tuple[str, int]
"""A key and its modifiers."""


class KeyStroke(Record, kw_only=False):
    """The meaning of a key sequence."""

    key: str
    """The key name as in a binding, or its character."""
    modifiers: int = 0
    text: str = ""
    """The text that it types, if any."""
    phase: Phase = "press"
    also: tuple[Reading, ...] = ()
    """Other names of the same key press, where a terminal or layout cannot distinguish them."""


def modifiers_of(number: str) -> int:
    """Return the modifiers in a parameter of a sequence; an absent parameter means none."""
    return (int(number) - 1) & ~LOCKS if number and number != "0" else 0


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
    "M": KeyStroke("enter"),
    "I": KeyStroke("tab"),
    **{chr(ord("p") + digit): KeyStroke(str(digit), text=str(digit)) for digit in range(10)},
    **{code: KeyStroke(key, text=key) for code, key in zip("jklmnoX", "*+,-./=", strict=True)},
}
"""Final letters of ``SS3`` for the keypad in application mode."""

_RXVT_ARROWS = dict(zip("abcd", ("up", "down", "right", "left"), strict=True))
_RXVT_MODIFIERS = {"~": 0, "$": SHIFT, "^": CTRL, "@": CTRL | SHIFT}

_CONTROLS: dict[str, KeyStroke] = {
    "\x00": KeyStroke("space", CTRL, also=(("@", CTRL), ("2", CTRL))),
    # Backspace of old terminals, and Ctrl+Backspace or Ctrl+H of others. Deleting one character is
    # the safe interpretation. The decoder handles terminals that use it for Ctrl+Backspace.
    "\x08": KeyStroke("backspace"),
    "\t": KeyStroke("tab"),
    "\r": KeyStroke("enter"),
    "\x1b": KeyStroke("escape"),
    "\x1c": KeyStroke("\\", CTRL, also=(("4", CTRL),)),
    "\x1d": KeyStroke("]", CTRL, also=(("5", CTRL),)),
    "\x1e": KeyStroke("^", CTRL, also=(("6", CTRL),)),
    "\x1f": KeyStroke("-", CTRL, also=(("_", CTRL), ("/", CTRL), ("7", CTRL))),
    "\x7f": KeyStroke("backspace"),
}

_LINUX_CONSOLE = {f"\x1b[[{'ABCDE'[number]}": KeyStroke(f"f{number + 1}") for number in range(5)}

_CSI = r"\x1b\[(?P<number>\d*)(?:;(?P<modifiers>\d+))?(?P<final>[A-Za-z~$^@])"
_SS3 = r"\x1bO(?P<modifiers>\d?)(?P<final>[A-Za-z])"


def parse_legacy(data: str) -> KeyStroke | None:
    """Decode a legacy sequence (control bytes, ESC prefixes, VT and rxvt sequences), or None."""
    if len(data) == 1:
        return _character(data)
    if data[0] != "\x1b":
        return None
    if len(data) == 2 or data[1] == "\x1b":  # rxvt and PuTTY also put ESC before sequences
        inner = parse_legacy(data[1:])
        return _with_alt(inner) if inner else None
    if sequence := re.fullmatch(_CSI, data):
        return _csi(sequence)
    if sequence := re.fullmatch(_SS3, data):
        return _ss3(sequence)
    return _LINUX_CONSOLE.get(data)


def _character(char: str) -> KeyStroke | None:
    if stroke := _CONTROLS.get(char):
        return stroke
    if char < " ":
        return KeyStroke(chr(ord(char) + 96), CTRL)
    if char == " ":
        return KeyStroke("space", text=" ")
    if "\x7f" < char < "\xa0":
        return None
    lower = char.lower()
    if lower != char and len(lower) == 1:
        return KeyStroke(lower, SHIFT, text=char)
    return KeyStroke(char, text=char)


def _with_alt(stroke: KeyStroke) -> KeyStroke:
    also: tuple[Reading, ...] = tuple((key, bits | ALT) for key, bits in stroke.also)
    return KeyStroke(stroke.key, stroke.modifiers | ALT, also=also)


def _csi(sequence: re.Match[str]) -> KeyStroke | None:
    number, final = sequence["number"], sequence["final"]
    modifiers = modifiers_of(sequence["modifiers"] or "")
    if final in _RXVT_MODIFIERS:
        key = BY_NUMBER.get(int(number or 0))
        return KeyStroke(key, modifiers | _RXVT_MODIFIERS[final]) if key else None
    if number not in ("", "1"):
        return None
    if final == "Z":
        return KeyStroke("tab", modifiers | SHIFT)
    if final in _RXVT_ARROWS:
        return KeyStroke(_RXVT_ARROWS[final], SHIFT)
    key = BY_LETTER.get(final)
    return KeyStroke(key, modifiers) if key else None


def _ss3(sequence: re.Match[str]) -> KeyStroke | None:
    final = sequence["final"]
    if final in _RXVT_ARROWS:
        return KeyStroke(_RXVT_ARROWS[final], CTRL)
    if final in _KEYPAD:
        return _KEYPAD[final]
    key = BY_LETTER.get(final)
    return KeyStroke(key, modifiers_of(sequence["modifiers"])) if key else None


PUSH = "\x1b[>7u"
"""Requests disambiguated keys, event types and alternate keys (flags 1 + 2 + 4)."""
POP = "\x1b[<u"
QUERY = "\x1b[?u"
MODIFY_OTHER_KEYS = "\x1b[>4;2m"
MODIFY_OTHER_KEYS_OFF = "\x1b[>4;0m"

_CODED = (
    r"\x1b\[(?P<code>\d+)(?::(?P<shifted>\d*))?(?::(?P<base>\d*))?"
    r"(?:;(?P<modifiers>\d*)(?::(?P<phase>[123]))?)?(?:;(?P<text>[\d:]*))?u"
)
_OTHER_KEYS = r"\x1b\[27;(?P<modifiers>\d+);(?P<code>\d+)~"
_NAMED = (
    r"\x1b\[(?P<number>\d+)(?:;(?P<modifiers>\d*)(?::(?P<phase>[123]))?)?(?P<final>[A-FHPQRS~])"
)

_PHASES: dict[str | None, Phase] = {"2": "repeat", "3": "release"}

_CODES = {
    8: "backspace",  # xterm, if Backspace is configured to send Ctrl+H
    9: "tab",
    13: "enter",
    27: "escape",
    32: "space",
    127: "backspace",
    57414: "enter",
    57417: "left",
    57418: "right",
    57419: "up",
    57420: "down",
    57421: "pageUp",
    57422: "pageDown",
    57423: "home",
    57424: "end",
    57425: "insert",
    57426: "delete",
    57427: "clear",
}
_KITTY_KEYPAD = {
    **{57399 + digit: str(digit) for digit in range(10)},
    **dict(zip((57409, 57410, 57411, 57412, 57413, 57415, 57416), "./*-+=,", strict=True)),
}
_PRIVATE_USE = range(0xE000, 0xF900)
"""Where Kitty puts keys without a character: modifiers alone, media keys, locks."""


def parse_kitty(data: str) -> KeyStroke | None:
    """Decode a Kitty or modifyOtherKeys sequence, or returns None.

    The forms are ``CSI code:shifted:base;modifiers:phase;text u`` and its variants of the Kitty
    keyboard protocol, and xterm's ``CSI 27;modifiers;code ~`` or ``CSI code;modifiers u``.
    """
    if coded := re.fullmatch(_CODED, data):
        return _coded(coded)
    if other := re.fullmatch(_OTHER_KEYS, data):
        return _stroke(int(other["code"]), modifiers_of(other["modifiers"]), "press")
    if named := re.fullmatch(_NAMED, data):
        number, final = int(named["number"]), named["final"]
        key = BY_NUMBER.get(number) if final == "~" else BY_LETTER.get(final)
        if key and (final == "~" or number == 1):
            phase = _PHASES.get(named["phase"], "press")
            return KeyStroke(key, modifiers_of(named["modifiers"] or ""), phase=phase)
    return None


def _coded(sequence: re.Match[str]) -> KeyStroke | None:
    stroke = _stroke(
        int(sequence["code"]),
        modifiers_of(sequence["modifiers"] or ""),
        _PHASES.get(sequence["phase"], "press"),
        shifted=_char(sequence["shifted"]),
        base=_char(sequence["base"]),
    )
    text = "".join(map(_char, (sequence["text"] or "").split(":")))
    return replace(stroke, text=text) if stroke and text else stroke


def _stroke(
    code: int, modifiers: int, phase: Phase, *, shifted: str = "", base: str = ""
) -> KeyStroke | None:
    typing = phase != "release" and not modifiers & ~SHIFT
    if name := _CODES.get(code):
        return KeyStroke(
            name, modifiers, text=" " if name == "space" and typing else "", phase=phase
        )
    char = _KITTY_KEYPAD.get(code) or _char(str(code))
    if not char:
        return None
    # modifyOtherKeys sends the typed character
    if (lower := char.lower()) != char and len(lower) == 1:
        shifted, char = char, lower
        modifiers |= SHIFT
    if modifiers & SHIFT and not shifted and len(char.upper()) == 1:
        shifted = char.upper()
    text = shifted if modifiers & SHIFT else char
    return KeyStroke(
        char,
        modifiers,
        text=text if typing else "",
        phase=phase,
        also=_other_readings(char, modifiers, shifted, base),
    )


def _other_readings(char: str, modifiers: int, shifted: str, base: str) -> tuple[Reading, ...]:
    """Return further names of a key press.

    A shifted symbol has its own name (Shift+1 is ``!``). If the layout has no Latin letter on the
    key, the position of the key counts. A Dvorak or AZERTY letter is used as typed.
    """
    readings: list[Reading] = []
    if modifiers & SHIFT and shifted and not shifted.isalpha():
        readings.append((shifted, modifiers & ~SHIFT))
    if base and base != char and not char.isascii():
        readings.append((base, modifiers))
    return tuple(readings)


def _char(code: str | None) -> str:
    """Return the character with this code; empty for keys without a character."""
    number = int(code or 0)
    if number < 32 or 127 <= number < 160 or number in _PRIVATE_USE or number > 0x10FFFF:
        return ""
    return "" if 0xD800 <= number < 0xE000 else chr(number)


def control_character(data: str) -> str:
    """Return the control byte for a re-encoded Ctrl+letter, or an empty string."""
    stroke = parse_kitty(data)
    if stroke is None or stroke.modifiers & ~SHIFT != CTRL or len(stroke.key) != 1:
        return ""
    return chr(ord(stroke.key) & 0x1F) if stroke.key.isascii() else ""
