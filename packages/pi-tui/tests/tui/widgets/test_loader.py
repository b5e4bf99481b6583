from __future__ import annotations

import pytest

from pi.tui.text.width import visible_width
from pi.tui.widgets.loader import FRAMES, INTERVAL, Loader


def test_a_spinner_is_shown_before_its_sanitised_message() -> None:
    loader = Loader("Thinking\x1b[2J\nhard", paint_spinner=lambda text: f"<{text}>")

    assert loader.render(30) == ["", f" <{FRAMES[0]}> Thinking hard"]


@pytest.mark.behaviour("input-before-painting")
def test_tick_selects_the_frame_by_time_and_returns_whether_it_changed() -> None:
    loader = Loader("x")
    times = [100.0, 100.0 + INTERVAL / 2, 100.0 + INTERVAL * 1.5, 100.0 + INTERVAL * 10.5]

    changes = [loader.tick(now) for now in times]

    assert changes == [False, False, True, True]
    assert loader.render(10) == ["", f" {FRAMES[0]} x"]


def test_a_tick_without_another_frame_keeps_the_rows() -> None:
    loader = Loader("x")
    loader.tick(0.0)
    rows = loader.render(10)
    loader.tick(INTERVAL / 2)

    assert loader.render(10) is rows


def test_the_message_can_change() -> None:
    loader = Loader("x", frames=("-",))
    loader.set_message("y")

    assert loader.render(10) == ["", " - y"]


@pytest.mark.parametrize("width", range(1, 6))
def test_a_loader_fits_any_width(width: int) -> None:
    assert max(map(visible_width, Loader("日本").render(width))) <= width
