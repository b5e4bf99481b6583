"""Keys in the encodings that tell everything apart.

``CSI code:shifted:base;modifiers:phase;text u`` and its relatives of the Kitty keyboard protocol,
and xterm's modifyOtherKeys: ``CSI 27;modifiers;code ~`` or, in the first form, without a phase.
"""

from __future__ import annotations

import re

from pi.base.records import replace
from pi.tui.input.legacy import BY_LETTER, BY_NUMBER
from pi.tui.input.stroke import CTRL, SHIFT, Phase, Reading, Stroke, modifiers_of

PUSH = "\x1b[>7u"
"""Ask for disambiguated keys, phases and alternate keys (flags 1 + 2 + 4)."""
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
    8: "backspace",  # xterm's, where Backspace is set to send Ctrl+H
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
_KEYPAD = {
    **{57399 + digit: str(digit) for digit in range(10)},
    **dict(zip((57409, 57410, 57411, 57412, 57413, 57415, 57416), "./*-+=,", strict=True)),
}
_PRIVATE_USE = range(0xE000, 0xF900)
"""Where Kitty puts keys without a character: modifiers alone, media keys, locks."""


def parse_kitty(data: str) -> Stroke | None:
    """The stroke that ``data`` stands for in the new encodings, or nothing."""
    if coded := re.fullmatch(_CODED, data):
        return _coded(coded)
    if other := re.fullmatch(_OTHER_KEYS, data):
        return _stroke(int(other["code"]), modifiers_of(other["modifiers"]), "press")
    if named := re.fullmatch(_NAMED, data):
        number, final = int(named["number"]), named["final"]
        key = BY_NUMBER.get(number) if final == "~" else BY_LETTER.get(final)
        if key and (final == "~" or number == 1):
            phase = _PHASES.get(named["phase"], "press")
            return Stroke(key, modifiers_of(named["modifiers"] or ""), phase=phase)
    return None


def _coded(sequence: re.Match[str]) -> Stroke | None:
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
) -> Stroke | None:
    typing = phase != "release" and not modifiers & ~SHIFT
    if name := _CODES.get(code):
        return Stroke(name, modifiers, text=" " if name == "space" and typing else "", phase=phase)
    char = _KEYPAD.get(code) or _char(str(code))
    if not char:
        return None
    if (lower := char.lower()) != char and len(lower) == 1:  # modifyOtherKeys sends what is typed
        shifted, char = char, lower
        modifiers |= SHIFT
    if modifiers & SHIFT and not shifted and len(char.upper()) == 1:
        shifted = char.upper()
    text = shifted if modifiers & SHIFT else char
    return Stroke(
        char,
        modifiers,
        text=text if typing else "",
        phase=phase,
        also=_other_readings(char, modifiers, shifted, base),
    )


def _other_readings(char: str, modifiers: int, shifted: str, base: str) -> tuple[Reading, ...]:
    """Further names of a stroke.

    A shifted symbol is itself (Shift+1 is ``!``). Where the layout has no Latin letter on the key,
    the place of the key counts; a Dvorak or AZERTY letter is meant as typed.
    """
    readings: list[Reading] = []
    if modifiers & SHIFT and shifted and not shifted.isalpha():
        readings.append((shifted, modifiers & ~SHIFT))
    if base and base != char and not char.isascii():
        readings.append((base, modifiers))
    return tuple(readings)


def _char(code: str | None) -> str:
    """The character with this number; none for keys without one."""
    number = int(code or 0)
    if number < 32 or 127 <= number < 160 or number in _PRIVATE_USE or number > 0x10FFFF:
        return ""
    return "" if 0xD800 <= number < 0xE000 else chr(number)


def control_character(data: str) -> str:
    """The control byte that a re-encoded Ctrl+letter stands for, or nothing."""
    stroke = parse_kitty(data)
    if stroke is None or stroke.modifiers & ~SHIFT != CTRL or len(stroke.key) != 1:
        return ""
    return chr(ord(stroke.key) & 0x1F) if stroke.key.isascii() else ""
