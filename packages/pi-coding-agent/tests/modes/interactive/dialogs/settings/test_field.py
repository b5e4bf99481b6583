"""One value, being typed."""

from __future__ import annotations

from pi.coding.settings.setting import number
from pi.modes.interactive.dialogs.settings.values import ValueField
from pi.tui.input.keymap import Keymap
from pi.tui.text.ansi import strip_sequences
from tests.modes.interactive.fake_screen import plain_theme, sequence


def test_only_a_valid_value_is_returned() -> None:
    values: list[object] = []
    field = ValueField(
        plain_theme(),
        Keymap(),
        number("n", "Number", "A number.", 1, most=9),
        4,
        on_value=values.append,
        on_cancel=lambda: values.append("cancelled"),
    )

    def press(*keys: str) -> list[str]:
        for key in keys:
            field.handle_input(sequence(key))
        return [strip_sequences(row).rstrip() for row in field.render(60)]

    rows = press("2", "enter")
    assert rows[:2] == ["  Number", "  A number."]
    assert rows[-1] == "  Number must be a whole number of at least 0 and at most 9."
    assert press("backspace")[-1] == ""
    press("enter", "ctrl+u", "enter", "escape")
    assert values == [4, None, "cancelled"]


def test_an_empty_field_shows_the_default() -> None:
    reported = []
    for default in (3, None):
        field = ValueField(
            plain_theme(),
            Keymap(),
            number("n", "Number", "A number.", default),
            None,
            on_value=lambda value: None,
            on_cancel=lambda: None,
        )
        reported.append(strip_sequences(field.render(60)[3]).rstrip())
    assert reported == ["> 3, by default", "> nothing set"]
