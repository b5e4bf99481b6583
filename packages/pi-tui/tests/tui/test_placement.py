from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.base.errors import PiError
from pi.tui.overlays import Anchor, Bounds, Margin, OverlayArea, OverlayOptions
from pi.tui.terminal import Size

SCREEN = Size(columns=100, rows=40)


def bounds(options: OverlayOptions, height: int = 10, size: Size = SCREEN) -> Bounds:
    return OverlayArea(options, size).bounds(height)


@pytest.mark.parametrize(
    ("anchor", "row", "column"),
    [
        ("center", 15, 40),
        ("top-left", 0, 0),
        ("top-right", 0, 80),
        ("bottom-left", 30, 0),
        ("bottom-right", 30, 80),
        ("top-center", 0, 40),
        ("bottom-center", 30, 40),
        ("left-center", 15, 0),
        ("right-center", 15, 80),
    ],
)
def test_an_anchor_sets_the_position(anchor: Anchor, row: int, column: int) -> None:
    assert bounds(OverlayOptions(anchor=anchor, width=20)) == Bounds(row, column, 20, 10)


def test_a_position_is_given_in_cells_or_per_cent() -> None:
    assert bounds(OverlayOptions(width=20, row=3, col="50%")) == Bounds(3, 40, 20, 10)
    assert bounds(OverlayOptions(width=20, row="100%", col=7)) == Bounds(30, 7, 20, 10)


def test_offsets_move_an_overlay_within_the_screen() -> None:
    options = OverlayOptions(width=20, anchor="top-left", offset_x=5, offset_y=-3)

    assert bounds(options) == Bounds(0, 5, 20, 10)


def test_margins_stay_free() -> None:
    options = OverlayOptions(width="100%", anchor="bottom-right", margin=Margin(right=2, bottom=1))

    assert bounds(options) == Bounds(29, 0, 98, 10)


def test_a_position_in_cells_is_relative_to_the_screen_and_not_to_the_margin() -> None:
    assert bounds(OverlayOptions(width=20, row=5, col=7, margin=2)) == Bounds(5, 7, 20, 10)
    assert bounds(OverlayOptions(width=20, row=0, col=99, margin=2)) == Bounds(2, 78, 20, 10)


def test_per_cent_sizes_are_relative_to_the_whole_screen() -> None:
    space = OverlayArea(OverlayOptions(width="50%", max_height="50%", margin=10), SCREEN)

    assert (space.width, space.height) == (50, 20)


def test_sizes_have_limits() -> None:
    assert OverlayArea(OverlayOptions(), SCREEN).width == 80
    assert OverlayArea(OverlayOptions(width="10%", min_width=30), SCREEN).width == 30
    assert OverlayArea(OverlayOptions(width=500), SCREEN).width == 100
    assert OverlayArea(OverlayOptions(max_height="50%"), SCREEN).height == 20
    assert OverlayArea(OverlayOptions(max_height=99, margin=1), SCREEN).height == 38


def test_invalid_lengths_raise() -> None:
    with pytest.raises(PiError, match="Invalid overlay length"):
        _ = OverlayArea(OverlayOptions(width="wide"), SCREEN).width


@given(
    st.builds(
        OverlayOptions,
        width=st.none() | st.integers(1, 200) | st.just("70%"),
        row=st.none() | st.integers(-5, 100) | st.just("30%"),
        col=st.none() | st.integers(-5, 100),
        offset_x=st.integers(-50, 50),
        offset_y=st.integers(-50, 50),
        margin=st.integers(0, 200),
    ),
    st.integers(8, 120),
    st.integers(8, 60),
    st.integers(0, 60),
)
def test_an_overlay_is_always_inside_the_screen(
    options: OverlayOptions, columns: int, rows: int, height: int
) -> None:
    space = OverlayArea(options, Size(columns=columns, rows=rows))
    place = space.bounds(min(height, space.height))

    assert place.column in range(columns - place.width + 1)
    assert place.row in range(rows - place.height + 1)
