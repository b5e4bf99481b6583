from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.input.keys import (
    Key,
    canonical,
    is_key_release,
    is_key_repeat,
    key_names,
    matches_key,
    parse_key,
    printable_text,
)


@pytest.mark.parametrize(
    ("name", "spelt"),
    [
        ("ctrl+c", "ctrl+c"),
        ("shift+ctrl+p", "ctrl+shift+p"),
        ("Super+Alt+Shift+Ctrl+X", "ctrl+shift+alt+super+x"),
        ("esc", "escape"),
        ("return", "enter"),
        ("pageup", "pageUp"),
        ("ctrl+-", "ctrl+-"),
        ("ctrl++", "ctrl++"),
        ("+", "+"),
        ("ctrl+alt++", "ctrl+alt++"),
        ("f12", "f12"),
        ("?", "?"),
        ("f13", None),
        ("ctrl+", None),
        ("hyper+a", None),
        ("ctrl+foo", None),
        ("", None),
    ],
)
def test_a_key_has_one_spelling(name: str, spelt: str | None) -> None:
    assert canonical(name) == spelt


def test_a_key_matches_in_every_encoding_and_order_of_modifiers() -> None:
    for data in ("\x1b[112;6u", "\x1b[112:80;6u", "\x1b[27;6;80~"):
        assert matches_key(data, "shift+ctrl+p")
    for data in ("\x03", "\x1b[99;5u", "\x1b[27;5;99~"):
        assert matches_key(data, Key.ctrl("c"))
    assert matches_key("L", Key.shift("l"))
    assert matches_key("\x1b\x1d", Key.ctrl(Key.alt("]")))
    assert matches_key("\x1b[99;9u", Key.super("c"))


@pytest.mark.behaviour("control-letters-are-not-named-keys")
@pytest.mark.parametrize(
    ("data", "key", "never"),
    [
        ("\r", "enter", "ctrl+m"),
        ("\t", "tab", "ctrl+i"),
        ("\x08", "backspace", "ctrl+h"),
        ("\x7f", "backspace", "ctrl+h"),
        ("\x1b", "escape", "ctrl+["),
        ("\n", "ctrl+j", "enter"),
    ],
)
def test_a_control_letter_does_not_match_the_named_key_with_the_same_byte(
    data: str, key: str, never: str
) -> None:
    assert (matches_key(data, key), matches_key(data, never)) == (True, False)


@pytest.mark.behaviour("control-letters-are-not-named-keys")
def test_control_letters_match_in_the_kitty_encoding() -> None:
    found = [parse_key(f"\x1b[{ord(letter)};5u") for letter in "mihj["]

    assert found == ["ctrl+m", "ctrl+i", "ctrl+h", "ctrl+j", "ctrl+["]


def test_one_byte_may_have_several_names() -> None:
    assert key_names("\x1f") == ("ctrl+-", "ctrl+_", "ctrl+/", "ctrl+7")


@pytest.mark.behaviour("pasted-text-is-literal")
def test_only_key_sequences_are_releases_or_repeats_not_similar_text() -> None:
    assert is_key_release("\x1b[97;1:3u")
    assert is_key_release("\x1b[1;5:3A")
    assert is_key_release("\x1b[3;1:3~")
    assert is_key_repeat("\x1b[97;1:2u")
    assert not is_key_repeat("\x1b[97;1:3u")
    assert not is_key_release("\x1b[200~90:62:3F:A5:3u\x1b[201~")
    assert not is_key_release(":3F")
    assert not is_key_release("\x1b[?1:3z")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("a", "a"),
        ("hello", "hello"),
        ("日", "日"),
        ("\u200d", "\u200d"),
        ("\x1b[97:65;2u", "A"),
        ("\x1b[97u", "a"),
        ("\x1b[1092u", "ф"),
        ("\x1b[32;2u", " "),
        ("\x1b[97;5u", ""),
        ("\x1ba", ""),
        ("\r", ""),
        ("\x1b[A", ""),
        ("\x1b[?1u", ""),
        ("", ""),
    ],
)
def test_printable_text_returns_only_typed_text(data: str, text: str) -> None:
    assert printable_text(data) == text


@given(st.text(max_size=20), st.text(max_size=8))
def test_no_input_makes_key_parsing_raise(data: str, name: str) -> None:
    parse_key(data)
    is_key_release(data)
    matches_key(data, name)

    assert not any(char < " " for char in printable_text(data)[:1])
