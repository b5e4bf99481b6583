"""Rows of the settings table."""

from __future__ import annotations

from pi.modes.interactive.dialogs.settings.setting import Setting, choice, group, number, switch


def test_settings_of_a_group_know_it() -> None:
    made = group("G", switch("a", "A", "a.", on=True), choice("b", "B", "b.", ("x", "y")))
    assert made == (
        Setting(
            name="a",
            label="A",
            description="a.",
            kind="choice",
            group="G",
            default=True,
            choices=(True, False),
        ),
        Setting(
            name="b",
            label="B",
            description="b.",
            kind="choice",
            group="G",
            default="x",
            choices=("x", "y"),
        ),
    )


def test_numbers_have_a_range() -> None:
    made = number("n", "N", "n.", 3, least=1, most=9)
    assert (made.kind, made.default, made.least, made.most) == ("number", 3, 1, 9)
