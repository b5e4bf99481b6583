from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.style import ColourDepth, Style, nearest, nearest_hue, painter, palette_rgb, unpainted
from tests.tui.text.test_ansi import state_after


@pytest.mark.behaviour("colour-depth-falls-back")
@pytest.mark.parametrize(
    ("colour", "depth", "expected"),
    [
        ("#ff8000", ColourDepth.TRUE, "\x1b[38;2;255;128;0mx\x1b[39m"),
        ("#ff8700", ColourDepth.PALETTE, "\x1b[38;5;208mx\x1b[39m"),
        ("#808080", ColourDepth.PALETTE, "\x1b[38;5;244mx\x1b[39m"),
        ("#fe0101", ColourDepth.BASIC, "\x1b[91mx\x1b[39m"),
        ("#000000", ColourDepth.BASIC, "\x1b[30mx\x1b[39m"),
        ("#ff8000", ColourDepth.NONE, "x"),
        (1, ColourDepth.TRUE, "\x1b[31mx\x1b[39m"),
        (9, ColourDepth.BASIC, "\x1b[91mx\x1b[39m"),
        (208, ColourDepth.PALETTE, "\x1b[38;5;208mx\x1b[39m"),
        (196, ColourDepth.BASIC, "\x1b[91mx\x1b[39m"),
    ],
)
def test_a_colour_is_encoded_for_the_colour_depth(
    colour: str | int, depth: ColourDepth, expected: str
) -> None:
    assert painter(Style(colour=colour), depth)("x") == expected


def test_attributes_and_background_are_combined_in_one_sequence() -> None:
    paint = painter(Style(bold=True, dim=True, underline=True, background=4))

    assert paint("x") == "\x1b[1;2;4;44mx\x1b[22;24;49m"


def test_attributes_stay_without_colours() -> None:
    assert painter(Style(bold=True, colour=1), ColourDepth.NONE)("x") == "\x1b[1mx\x1b[22m"


def test_the_outer_style_is_restored_after_a_nested_style() -> None:
    outer, inner = painter(Style(colour=1, bold=True)), painter(Style(colour=2))

    assert outer(f"a{inner('b')}c") == "\x1b[1;31ma\x1b[32mb\x1b[39m\x1b[31mc\x1b[22;39m"


@pytest.mark.parametrize("reset", ["\x1b[0m", "\x1b[m", "\x1b[22;0m"])
def test_a_reset_inside_does_not_end_the_style_around_it(reset: str) -> None:
    assert painter(Style(colour=1))(f"a{reset}b") == f"\x1b[31ma{reset}\x1b[31mb\x1b[39m"


def test_a_palette_index_is_not_mistaken_for_a_closing_attribute() -> None:
    assert painter(Style(bold=True))("\x1b[38;5;22mx") == "\x1b[1m\x1b[38;5;22mx\x1b[22m"


def test_an_empty_style_or_text_writes_no_sequences() -> None:
    assert painter(Style()) is unpainted
    assert (unpainted("x"), painter(Style(bold=True))("")) == ("x", "")


@given(st.integers(min_value=16, max_value=255))
def test_a_palette_colour_is_nearest_to_itself(index: int) -> None:
    assert palette_rgb(nearest(palette_rgb(index), range(16, 256))) == palette_rgb(index)


@given(st.sampled_from(list(ColourDepth)), st.booleans(), st.integers(0, 255))
def test_painted_text_closes_all_its_styles(depth: ColourDepth, bold: bool, colour: int) -> None:
    paint = painter(Style(colour=colour, background="#123456", bold=bold), depth)

    assert state_after(paint("x")).opening() == ""


def test_a_soft_tint_keeps_its_hue_in_a_palette() -> None:
    assert [nearest_hue(rgb) for rgb in ((0x2B, 0x3C, 0x2B), (0x3E, 0x2C, 0x2C))] == [22, 52]
    assert [nearest_hue(rgb) for rgb in ((0xDA, 0xE5, 0xDD), (0xEB, 0xDB, 0xDD))] == [194, 224]
