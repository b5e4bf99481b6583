from __future__ import annotations

import pytest

from pi.tui.screen.pane_match import Debounce
from pi.tui.tui import FRAME_SECONDS, RenderLoop
from tests.tui.manual_timers import ManualTimers


class Painter:
    def __init__(self) -> None:
        self.timers = ManualTimers()
        self.painted: list[float] = []
        self.busy = False
        self.loop = RenderLoop(
            self.timers,
            lambda: self.painted.append(round(self.timers.time(), 3)),
            is_busy=lambda: self.busy,
        )


def test_many_requests_are_one_frame() -> None:
    painter = Painter()

    for _ in range(5):
        painter.loop.request()
    painter.timers.advance(1)

    assert painter.painted == [0.0]


def test_frames_are_rate_limited() -> None:
    painter = Painter()

    for _ in range(1000):
        painter.loop.request()
        painter.timers.advance(0.001)

    assert len(painter.painted) in range(55, 62)


def test_an_immediate_frame_satisfies_the_request() -> None:
    painter = Painter()

    painter.loop.request()
    assert painter.loop.is_pending
    painter.loop.paint_now()
    painter.timers.advance(1)

    assert (painter.painted, painter.loop.is_pending) == ([0.0], False)


def test_a_request_can_be_cancelled() -> None:
    painter = Painter()

    painter.loop.request()
    painter.loop.stop()
    painter.timers.advance(1)

    assert painter.painted == []


@pytest.mark.behaviour("vanished-terminal-ends-cleanly", "input-before-painting")
def test_no_frame_is_painted_while_the_terminal_is_busy() -> None:
    painter = Painter()
    painter.busy = True

    painter.loop.request()
    painter.timers.advance(2)
    assert painter.painted == []
    painter.busy = False
    painter.timers.advance(0.3)

    assert len(painter.painted) == 1


@pytest.mark.behaviour("resizes-are-coalesced")
def test_resize_steps_are_debounced() -> None:
    timers, acted = ManualTimers(), list[float]()
    settle = Debounce(timers, lambda: acted.append(round(timers.time(), 2)), seconds=0.05)

    for _ in range(10):
        settle.restart()
        timers.advance(0.03)
    assert (acted, settle.is_pending) == ([], True)
    timers.advance(1)
    assert (acted, settle.is_pending) == ([0.32], False)


def test_a_debounce_can_be_stopped() -> None:
    timers, acted = ManualTimers(), list[str]()
    settle = Debounce(timers, lambda: acted.append("late"), seconds=0.05)

    settle.restart()
    settle.stop()
    timers.advance(1)

    assert acted == []


def test_the_frame_rate_is_at_most_sixty() -> None:
    assert pytest.approx(1 / 60) == FRAME_SECONDS
