from __future__ import annotations

import pytest

from pi.tui.input.key_codes import ALT, CTRL, SHIFT, SUPER, modifiers_of


@pytest.mark.parametrize(
    ("number", "modifiers"),
    [
        ("", 0),
        ("0", 0),
        ("1", 0),
        ("2", SHIFT),
        ("3", ALT),
        ("5", CTRL),
        ("6", CTRL | SHIFT),
        ("9", SUPER),
        ("65", 0),
        ("129", 0),
        ("197", CTRL),
    ],
)
def test_modifiers_are_decoded_and_lock_keys_are_ignored(number: str, modifiers: int) -> None:
    assert modifiers_of(number) == modifiers
