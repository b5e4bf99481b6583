from __future__ import annotations

import pytest

from pi.tui.input.key_codes import ALT, CTRL, KeyStroke, parse_legacy
from pi.tui.input.keys import parse_key


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("a", "a"),
        ("A", "shift+a"),
        ("Ж", "shift+ж"),
        ("!", "!"),
        (" ", "space"),
        ("\r", "enter"),
        ("\n", "ctrl+j"),
        ("\t", "tab"),
        ("\x1b", "escape"),
        ("\x7f", "backspace"),
        ("\x00", "ctrl+space"),
        ("\x01", "ctrl+a"),
        ("\x1a", "ctrl+z"),
        ("\x1c", "ctrl+\\"),
        ("\x1d", "ctrl+]"),
        ("\x1f", "ctrl+-"),
        ("\x1bb", "alt+b"),
        ("\x1bB", "shift+alt+b"),
        ("\x1b[", "alt+["),
        ("\x1bO", "shift+alt+o"),
        ("\x1b\r", "alt+enter"),
        ("\x1b\x7f", "alt+backspace"),
        ("\x1b\x1d", "ctrl+alt+]"),
        ("\x1b\x03", "ctrl+alt+c"),
        ("\x1b[A", "up"),
        ("\x1bOA", "up"),
        ("\x1b\x1b[A", "alt+up"),
        ("\x1b[1;5D", "ctrl+left"),
        ("\x1b[1;4C", "shift+alt+right"),
        ("\x1bO5C", "ctrl+right"),
        ("\x1b[H", "home"),
        ("\x1b[1~", "home"),
        ("\x1b[7~", "home"),
        ("\x1b[F", "end"),
        ("\x1b[5~", "pageUp"),
        ("\x1b[6;5~", "ctrl+pageDown"),
        ("\x1b[2~", "insert"),
        ("\x1b[3~", "delete"),
        ("\x1b[3;3~", "alt+delete"),
        ("\x1b[3$", "shift+delete"),
        ("\x1b[3^", "ctrl+delete"),
        ("\x1b[3@", "ctrl+shift+delete"),
        ("\x1b[a", "shift+up"),
        ("\x1bOa", "ctrl+up"),
        ("\x1b[Z", "shift+tab"),
        ("\x1b[E", "clear"),
        ("\x1bOP", "f1"),
        ("\x1b[11~", "f1"),
        ("\x1b[[A", "f1"),
        ("\x1b[[E", "f5"),
        ("\x1b[17~", "f6"),
        ("\x1b[24~", "f12"),
        ("\x1b[1;2R", "shift+f3"),
        ("\x1bOM", "enter"),
        ("\x1bOp", "0"),
        ("\x1bOk", "+"),
    ],
)
def test_legacy_sequences_are_decoded_to_key_names(data: str, name: str) -> None:
    assert parse_key(data) == name


@pytest.mark.parametrize("data", ["\x1b[99~", "\x1b[5A", "\x1bOz", "\x1b[[Z", "\x9b", "ab"])
def test_a_sequence_that_is_not_a_key_has_no_stroke(data: str) -> None:
    assert parse_legacy(data) is None


def test_the_keypad_types_its_digits() -> None:
    assert parse_legacy("\x1bOs") == KeyStroke("3", text="3")


def test_a_byte_shared_by_several_keys_has_all_readings_also_with_alt() -> None:
    assert parse_legacy("\x1b\x1f") == KeyStroke(
        "-", CTRL | ALT, also=(("_", CTRL | ALT), ("/", CTRL | ALT), ("7", CTRL | ALT))
    )
