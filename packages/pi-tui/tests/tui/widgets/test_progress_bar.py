from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.text.width import visible_width
from pi.tui.widgets.loader import ProgressBar


@pytest.mark.parametrize(
    ("fraction", "row"),
    [
        (0.0, "do           0%"),
        (0.5, "do ███▌     50%"),
        (1.0, "do ███████ 100%"),
        (-1.0, "do           0%"),
        (7.0, "do ███████ 100%"),
    ],
)
def test_the_bar_shows_the_fraction_and_the_percentage(fraction: float, row: str) -> None:
    assert ProgressBar("do", fraction).render(15) == [row]


def test_the_done_and_remaining_parts_are_painted() -> None:
    bar = ProgressBar(paint_done=lambda text: f"<{text}>", paint_left=lambda text: f"({text})")
    bar.set_fraction(0.5)

    assert bar.render(9) == ["<██>(  )  50%"]


def test_only_the_percentage_is_shown_on_a_narrow_screen() -> None:
    assert ProgressBar("label", 0.5).render(8) == ["50%"]
    assert ProgressBar("label", 0.5).render(1) == ["5"]


@given(st.floats(0, 1), st.integers(1, 40))
def test_no_row_is_too_wide(fraction: float, width: int) -> None:
    bar = ProgressBar("進行", fraction)
    bar.invalidate()

    assert visible_width(bar.render(width)[0]) <= width
