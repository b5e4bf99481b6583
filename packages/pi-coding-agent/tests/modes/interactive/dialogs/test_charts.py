"""Small charts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pi.modes.interactive.dialogs.charts import bar, sparkline


def test_values_become_columns() -> None:
    assert sparkline([0, 1, 2, 4, 8], 10) == "▁▂▃▅█"
    assert sparkline([], 10) == ""
    assert sparkline([0, 0], 10) == "▁▁"


def test_a_peak_is_visible_among_many_values() -> None:
    values = [0.0] * 1000
    values[503] = 9.0
    assert sparkline(values, 10).count("█") == 1


def test_bars_are_full_as_far_as_they_should_be() -> None:
    assert [bar(share, 4) for share in (0, 0.001, 0.5, 1, 7)] == [
        "░░░░",
        "█░░░",
        "██░░",
        "████",
        "████",
    ]


@given(st.lists(st.floats(0, 1e9), max_size=200), st.integers(0, 50))
def test_charts_keep_to_their_width(values: list[float], width: int) -> None:
    assert len(sparkline(values, width)) == min(width, len(values))
    assert len(bar(0.3, width)) == width
