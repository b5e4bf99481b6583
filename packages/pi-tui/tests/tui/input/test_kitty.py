from __future__ import annotations

import pytest

from pi.tui.input.key_codes import CTRL, SHIFT, KeyStroke, control_character, parse_kitty
from pi.tui.input.keys import key_names, parse_key, printable_text


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("\x1b[97;5u", "ctrl+a"),
        ("\x1b[97:65;6u", "ctrl+shift+a"),
        ("\x1b[97;9u", "super+a"),
        ("\x1b[13u", "enter"),
        ("\x1b[13;2u", "shift+enter"),
        ("\x1b[27u", "escape"),
        ("\x1b[9;2u", "shift+tab"),
        ("\x1b[127;5u", "ctrl+backspace"),
        ("\x1b[32;5u", "ctrl+space"),
        ("\x1b[93;7u", "ctrl+alt+]"),
        ("\x1b[1;5A", "ctrl+up"),
        ("\x1b[1;1:2B", "down"),
        ("\x1b[3;5~", "ctrl+delete"),
        ("\x1b[13~", "f3"),
        ("\x1b[57414u", "enter"),
        ("\x1b[57419;3u", "alt+up"),
        ("\x1b[57399u", "0"),
        ("\x1b[57427u", "clear"),
    ],
)
def test_kitty_sequences_are_decoded_to_key_names(data: str, name: str) -> None:
    assert parse_key(data) == name


@pytest.mark.behaviour("key-formats-decode")
@pytest.mark.parametrize(
    ("data", "name", "text"),
    [
        ("\x1b[27;5;99~", "ctrl+c", ""),
        ("\x1b[99;5u", "ctrl+c", ""),
        ("\x1b[27;2;65~", "shift+a", "A"),
        ("\x1b[65;2u", "shift+a", "A"),
        ("\x1b[27;6;80~", "ctrl+shift+p", ""),
        ("\x1b[27;7;99~", "ctrl+alt+c", ""),
        ("\x1b[27;2;9~", "shift+tab", ""),
        ("\x1b[9;2u", "shift+tab", ""),
        ("\x1b[27;2;13~", "shift+enter", ""),
        ("\x1b[27;5;13~", "ctrl+enter", ""),
        ("\x1b[27;5;8~", "ctrl+backspace", ""),
        ("\x1b[27;2;32~", "shift+space", " "),
    ],
)
def test_modify_other_keys_decodes_in_both_formats_of_tmux(data: str, name: str, text: str) -> None:
    assert (parse_key(data), printable_text(data)) == (name, text)


@pytest.mark.behaviour("odd-key-events-type-nothing")
@pytest.mark.parametrize(
    ("data", "name", "text"),
    [
        ("\x1b[99;69u", "ctrl+c", ""),  # Caps Lock
        ("\x1b[99;133u", "ctrl+c", ""),  # Num Lock
        ("\x1b[1;129A", "up", ""),
        ("\x1b[57404u", "5", "5"),  # keypad
        ("\x1b[57404;129u", "5", "5"),
        ("\x1b[57441;2u", None, ""),  # Shift alone
        ("\x1b[57358u", None, ""),  # Caps Lock itself
        ("\x1b[57376u", None, ""),  # F13
        ("\x1b[57428u", None, ""),  # a media key
        ("\x1b[58000u", None, ""),
        ("\x1b[97;1:3u", "a", ""),  # a release types nothing
        ("\uf700", "\uf700", ""),  # Up as a private-use character on macOS
    ],
)
def test_locks_keypads_lone_modifiers_and_private_codes_are_decoded_without_stray_text(
    data: str, name: str | None, text: str
) -> None:
    assert (parse_key(data), printable_text(data)) == (name, text)


@pytest.mark.behaviour("shortcuts-on-other-layouts")
@pytest.mark.parametrize(
    ("data", "names"),
    [
        ("\x1b[1089::99;5u", ("ctrl+с", "ctrl+c")),  # Cyrillic es, on the key of Latin c
        ("\x1b[233::50;5u", ("ctrl+é", "ctrl+2")),  # AZERTY's é has no bindable name
        ("\x1b[106::99;5u", ("ctrl+j",)),  # Dvorak's j, on the key of QWERTY's c
        ("\x1b[97::113;5u", ("ctrl+a",)),  # AZERTY's a, on the key of QWERTY's q
    ],
)
def test_the_physical_key_is_used_only_if_the_layout_types_no_latin_letter(
    data: str, names: tuple[str, ...]
) -> None:
    assert key_names(data) == names


def test_a_shifted_symbol_is_also_a_key_name() -> None:
    assert key_names("\x1b[49:33;6u") == ("ctrl+shift+1", "ctrl+!")


def test_the_associated_text_is_the_typed_text() -> None:
    assert printable_text("\x1b[97;;228u") == "ä"


def test_the_shifted_alternate_key_is_the_typed_text() -> None:
    assert parse_kitty("\x1b[223:7838;2u") == KeyStroke("ß", SHIFT, text="ẞ")


@pytest.mark.parametrize("data", ["\x1b[u", "\x1b[9999999u", "\x1b[55296u", "\x1b[7;1A", "x"])
def test_a_sequence_that_is_not_a_key_has_no_stroke(data: str) -> None:
    assert parse_kitty(data) is None


@pytest.mark.parametrize(
    ("data", "character"),
    [("\x1b[106;5u", "\n"), ("\x1b[27;5;109~", "\r"), ("\x1b[13;5u", ""), ("\x1b[97;3u", "")],
)
def test_a_ctrl_letter_sequence_is_decoded_to_its_control_character(
    data: str, character: str
) -> None:
    assert control_character(data) == character


def test_a_ctrl_key_has_a_reading_by_layout_and_one_by_position() -> None:
    assert parse_kitty("\x1b[1089::99;5u") == KeyStroke("с", CTRL, also=(("c", CTRL),))
