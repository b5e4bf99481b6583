from __future__ import annotations

from collections.abc import Callable

import pytest

from pi.tui.screen.pane_match import (
    MAX_PANE_READS,
    PANE_READ_SECONDS,
    PaneReader,
    PaneText,
    ResizeTracker,
)
from pi.tui.terminal import Size
from pi.tui.tui import find_pane_reader
from tests.tui.manual_timers import ManualTimers

SECONDS = 0.3
TAPE = PaneText(rows=["all"], width=80, height=1)


class Pane:
    """Records what is written; the test decides when it is read."""

    def __init__(self) -> None:
        self.size = Size(columns=80, rows=1)
        self.timers = ManualTimers()
        self.requests: list[Callable[[], None]] = []
        self.looks: list[Callable[[PaneText | None], None]] = []
        self.ended = 0
        self.acted: list[PaneText | None] = []
        self.resizing = ResizeTracker(
            self.timers,
            self.acted.append,
            seconds=SECONDS,
            pane_reader=PaneReader(
                size=lambda: self.size, when_processed=self.requests.append, read=self.look
            ),
        )

    def look(self, done: Callable[[PaneText | None], None]) -> Callable[[], None]:
        self.looks.append(done)
        return self.end

    def end(self) -> None:
        self.ended += 1

    def settle(self) -> None:
        """Ends the resize and acknowledges everything that was written."""
        self.timers.advance(SECONDS)
        self.requests[-1]()


@pytest.fixture
def pane() -> Pane:
    return Pane()


def test_without_a_pane_the_resize_ends_when_the_size_is_stable() -> None:
    acted: list[PaneText | None] = []
    timers = ManualTimers()
    resizing = ResizeTracker(timers, acted.append, seconds=SECONDS)

    resizing.restart()
    timers.advance(SECONDS / 2)
    resizing.restart()
    timers.advance(SECONDS / 2)
    assert (acted, resizing.is_pending) == ([], True)

    timers.advance(SECONDS / 2)
    assert (acted, resizing.is_pending) == ([None], False)


def test_a_pane_is_read_after_it_processed_all_output(pane: Pane) -> None:
    pane.resizing.restart()
    pane.timers.advance(SECONDS)
    assert (len(pane.requests), pane.looks, pane.resizing.is_pending) == (1, [], True)

    pane.requests[0]()
    assert (pane.acted, pane.resizing.is_pending) == ([], True)

    pane.looks[0](TAPE)
    assert (pane.acted, pane.resizing.is_pending) == ([TAPE], False)


def test_another_resize_during_the_read_restarts_the_wait(pane: Pane) -> None:
    pane.resizing.restart()
    pane.settle()
    pane.resizing.restart()
    pane.requests[0]()
    pane.looks[0](TAPE)
    assert (pane.acted, pane.ended, len(pane.looks)) == ([], 1, 1)

    pane.settle()
    pane.looks[1](TAPE)
    assert pane.acted == [TAPE]


@pytest.mark.behaviour("resizes-are-coalesced")
def test_a_pane_with_an_unreported_size_is_read_again(pane: Pane) -> None:
    pane.size = Size(columns=60, rows=1)
    pane.resizing.restart()
    pane.settle()
    pane.looks[0](TAPE)
    assert (pane.acted, pane.resizing.is_pending) == ([], True)

    pane.size = Size(columns=80, rows=1)
    pane.settle()
    pane.looks[1](TAPE)
    assert pane.acted == [TAPE]


def test_a_pane_that_never_has_our_size_is_ignored(pane: Pane) -> None:
    pane.size = Size(columns=60, rows=1)
    pane.resizing.restart()
    for look in range(MAX_PANE_READS):
        pane.settle()
        pane.looks[look](TAPE)

    assert (pane.acted, pane.resizing.is_pending) == ([None], False)


def test_an_unanswered_read_times_out(pane: Pane) -> None:
    pane.resizing.restart()
    pane.timers.advance(SECONDS)
    pane.timers.advance(PANE_READ_SECONDS)
    assert pane.acted == [None]

    pane.requests[0]()
    assert pane.looks == []


def test_stopping_cancels_the_read(pane: Pane) -> None:
    pane.resizing.restart()
    pane.settle()
    pane.resizing.stop()
    pane.looks[0](TAPE)
    pane.timers.advance(PANE_READ_SECONDS)

    assert (pane.acted, pane.ended, pane.resizing.is_pending) == ([], 1, False)


def test_only_a_tmux_pane_can_be_read() -> None:
    assert find_pane_reader({"STY": "1", "TERM": "screen"}) is None
    assert find_pane_reader({"TMUX": "/tmp/tmux-1/default,1,0"}) is None
    assert find_pane_reader({"TMUX": "/tmp/tmux-1/default,1,0", "TMUX_PANE": "%3"}) is not None
