from __future__ import annotations

import pytest

from pi.base.records import replace
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_file import BACKGROUNDS, REQUIRED
from pi.modes.interactive.theme_selector import built_in
from pi.tui.negotiation import Scheme
from pi.tui.style import ColourDepth, inverse

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


@pytest.mark.behaviour("colour-depth-falls-back")
@pytest.mark.parametrize("token", REQUIRED)
def test_themes_with_sixteen_colours_use_only_basic_colours(token: str) -> None:
    painted = Theme(built_in("dark"), ColourDepth.BASIC).paint(token)("x")

    assert "38;" not in painted
    assert "48;" not in painted


@pytest.mark.parametrize("token", REQUIRED)
def test_without_colours_only_attributes_are_left(token: str) -> None:
    painted = Theme(built_in("dark"), ColourDepth.NONE).paint(token)("x")

    numbers = painted.partition("\x1b[")[2].partition("m")[0]
    assert set(numbers.split(";")) <= {"", "1", "2", "4", "7"}


@pytest.mark.behaviour("colour-depth-falls-back")
def test_unreadable_basic_colours_are_replaced() -> None:
    painted = [
        [Theme(built_in(scheme), ColourDepth.BASIC).paint(token)("x") for scheme in _SCHEMES]
        for token in ("accent", "warning", "mdCode")
    ]

    assert painted == [
        ["\x1b[94mx\x1b[39m", "\x1b[34mx\x1b[39m"],
        ["\x1b[33mx\x1b[39m", "\x1b[35mx\x1b[39m"],
        ["\x1b[36mx\x1b[39m", "\x1b[34mx\x1b[39m"],
    ]


def test_selected_rows_are_inverse_without_a_background_colour() -> None:
    palette = built_in("dark")
    without = replace(palette, colours=palette.colours | {"selectedBg": None})
    themes = [
        Theme(palette, ColourDepth.NONE),
        Theme(palette, ColourDepth.BASIC),
        Theme(without, ColourDepth.TRUE),
    ]

    assert [theme.paint("selectedBg")("x") for theme in themes] == [inverse("x")] * 3


def test_backgrounds_are_painted_behind_the_text() -> None:
    theme = Theme(built_in("dark"))

    assert all("48;2;" in theme.paint(token)("x") for token in BACKGROUNDS)


def test_scrollbar_and_search_use_the_optional_colours_of_a_theme() -> None:
    palette = built_in("dark")
    colours = {"scrollbarTrack": 1, "scrollbarThumb": 2, "searchMatchBg": 3, "searchMatchText": 4}
    scrolling = Theme(replace(palette, colours=palette.colours | colours)).scrolling

    assert [scrolling.track("x"), scrolling.thumb("x"), scrolling.match("x")] == [
        "\x1b[31mx\x1b[39m",
        "\x1b[32mx\x1b[39m",
        "\x1b[43m\x1b[34mx\x1b[39m\x1b[49m",
    ]
    assert Theme(palette, ColourDepth.NONE).scrolling.selection("x") == inverse("x")


def test_themes_of_widgets_are_made_once() -> None:
    theme = Theme(built_in("dark"))

    assert theme.markdown is theme.markdown
    assert theme.select is theme.select
    assert theme.thinking.text("x") != theme.markdown.text("x")
