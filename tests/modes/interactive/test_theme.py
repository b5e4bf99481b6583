from __future__ import annotations

import pytest

from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_choice import built_in
from pi.modes.interactive.theme_file import BACKGROUNDS, REQUIRED
from pi.tui.colour_scheme import Scheme
from pi.tui.style import ColourDepth

_SCHEMES: tuple[Scheme, ...] = ("dark", "light")


def test_paints_follow_a_change_of_the_theme() -> None:
    theme = Theme(built_in("dark"))
    paint = theme.paint("accent")
    before = paint("x")

    theme.use(built_in("light"))

    assert paint("x") != before
    assert theme.paint("accent") is paint


def test_attributes_come_on_top_of_the_colour() -> None:
    theme = Theme(built_in("dark"))

    assert theme.paint("accent", bold=True)("x") == "\x1b[1;38;2;127;180;240mx\x1b[22;39m"


@pytest.mark.trap(175)
@pytest.mark.parametrize("token", REQUIRED)
def test_sixteen_colours_never_ask_for_more(token: str) -> None:
    painted = Theme(built_in("dark"), ColourDepth.BASIC).paint(token)("x")

    assert "38;" not in painted
    assert "48;" not in painted


@pytest.mark.parametrize("token", REQUIRED)
def test_without_colours_only_attributes_are_left(token: str) -> None:
    painted = Theme(built_in("dark"), ColourDepth.NONE).paint(token)("x")

    numbers = painted.partition("\x1b[")[2].partition("m")[0]
    assert set(numbers.split(";")) <= {"", "1", "2", "4", "7"}


def test_blue_is_bright_where_it_could_not_be_read() -> None:
    painted = [
        Theme(built_in(scheme), ColourDepth.BASIC).paint("accent")("x") for scheme in _SCHEMES
    ]

    assert painted == ["\x1b[94mx\x1b[39m", "\x1b[34mx\x1b[39m"]


def test_what_is_selected_stands_out_on_every_terminal() -> None:
    for depth in (ColourDepth.NONE, ColourDepth.BASIC):
        assert "\x1b[7m" in Theme(built_in("dark"), depth).paint("selectedBg")("x")


def test_backgrounds_are_painted_behind_the_text() -> None:
    theme = Theme(built_in("dark"))

    assert all("48;2;" in theme.paint(token)("x") for token in BACKGROUNDS)


def test_themes_of_widgets_are_made_once() -> None:
    theme = Theme(built_in("dark"))

    assert theme.markdown is theme.markdown
    assert theme.select is theme.select
    assert theme.thinking.text("x") != theme.markdown.text("x")
