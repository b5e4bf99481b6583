from __future__ import annotations

from pi.modes.interactive.extensions.theme import ExtensionTheme
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_selector import built_in
from tests.modes.interactive.fake_screen import plain_theme


def test_colours_follow_the_theme() -> None:
    theme = Theme(built_in("dark"))
    colours = ExtensionTheme(theme)
    dark = colours.fg("accent", "x"), colours.bg("selectedBg", "x")

    theme.use(built_in("light"))

    assert colours.name == "light"
    assert (colours.fg("accent", "x"), colours.bg("selectedBg", "x")) != dark


def test_an_unknown_colour_leaves_the_text_unchanged() -> None:
    assert ExtensionTheme(plain_theme()).fg("nope", "x") == "x"


def test_texts_have_attributes() -> None:
    colours = ExtensionTheme(plain_theme())
    paints = (
        colours.bold,
        colours.italic,
        colours.underline,
        colours.dim,
        colours.inverse,
        colours.strikethrough,
    )

    assert [paint("x").partition("x")[0] for paint in paints] == [
        "\x1b[1m",
        "\x1b[3m",
        "\x1b[4m",
        "\x1b[2m",
        "\x1b[7m",
        "\x1b[9m",
    ]
