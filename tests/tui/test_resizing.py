from __future__ import annotations

from collections.abc import Callable

import pytest

from pi.tui.render_loop import LOOK_SECONDS, MOST_LOOKS, PaneReader, ResizeTracker, pane_reader
from pi.tui.screen.pane_match import PaneText
from pi.tui.terminal import Size
from tests.tui.manual_timers import ManualTimers

SECONDS = 0.3
TAPE = PaneText(rows=["all"], width=80, height=1)


class Pane:
    """Takes what is written and is looked at when the test says so."""

    def __init__(self) -> None:
        self.size = Size(columns=80, rows=1)
        self.timers = ManualTimers()
        self.asked: list[Callable[[], None]] = []
        self.looks: list[Callable[[PaneText | None], None]] = []
        self.ended = 0
        self.acted: list[PaneText | None] = []
        self.resizing = ResizeTracker(
            self.timers,
            self.acted.append,
            seconds=SECONDS,
            witness=PaneReader(
                size=lambda: self.size, when_taken=self.asked.append, look=self.look
            ),
        )

    def look(self, done: Callable[[PaneText | None], None]) -> Callable[[], None]:
        self.looks.append(done)
        return self.end

    def end(self) -> None:
        self.ended += 1

    def settle(self) -> None:
        """Let the resize be over, and everything that was written be taken."""
        self.timers.advance(SECONDS)
        self.asked[-1]()


@pytest.fixture
def pane() -> Pane:
    return Pane()


def test_without_a_pane_to_look_at_it_is_over_when_the_size_stands_still() -> None:
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


def test_a_pane_is_looked_at_when_it_has_taken_everything(pane: Pane) -> None:
    pane.resizing.restart()
    pane.timers.advance(SECONDS)
    assert (len(pane.asked), pane.looks, pane.resizing.is_pending) == (1, [], True)

    pane.asked[0]()
    assert (pane.acted, pane.resizing.is_pending) == ([], True)

    pane.looks[0](TAPE)
    assert (pane.acted, pane.resizing.is_pending) == ([TAPE], False)


def test_another_step_while_it_is_looked_at_begins_anew(pane: Pane) -> None:
    pane.resizing.restart()
    pane.settle()
    pane.resizing.restart()
    pane.asked[0]()
    pane.looks[0](TAPE)
    assert (pane.acted, pane.ended, len(pane.looks)) == ([], 1, 1)

    pane.settle()
    pane.looks[1](TAPE)
    assert pane.acted == [TAPE]


@pytest.mark.behaviour("resizes-are-coalesced")
def test_a_pane_that_has_not_told_its_size_yet_is_waited_for(pane: Pane) -> None:
    pane.size = Size(columns=60, rows=1)
    pane.resizing.restart()
    pane.settle()
    pane.looks[0](TAPE)
    assert (pane.acted, pane.resizing.is_pending) == ([], True)

    pane.size = Size(columns=80, rows=1)
    pane.settle()
    pane.looks[1](TAPE)
    assert pane.acted == [TAPE]


def test_a_pane_that_never_has_our_size_is_not_ours(pane: Pane) -> None:
    pane.size = Size(columns=60, rows=1)
    pane.resizing.restart()
    for look in range(MOST_LOOKS):
        pane.settle()
        pane.looks[look](TAPE)

    assert (pane.acted, pane.resizing.is_pending) == ([None], False)


def test_a_pane_that_does_not_answer_is_not_waited_for(pane: Pane) -> None:
    pane.resizing.restart()
    pane.timers.advance(SECONDS)
    pane.timers.advance(LOOK_SECONDS)
    assert pane.acted == [None]

    pane.asked[0]()
    assert pane.looks == []


def test_stopping_ends_the_look(pane: Pane) -> None:
    pane.resizing.restart()
    pane.settle()
    pane.resizing.stop()
    pane.looks[0](TAPE)
    pane.timers.advance(LOOK_SECONDS)

    assert (pane.acted, pane.ended, pane.resizing.is_pending) == ([], 1, False)


def test_only_a_pane_of_tmux_can_be_looked_at() -> None:
    assert pane_reader({"STY": "1", "TERM": "screen"}) is None
    assert pane_reader({"TMUX": "/tmp/tmux-1/default,1,0"}) is None
    assert pane_reader({"TMUX": "/tmp/tmux-1/default,1,0", "TMUX_PANE": "%3"}) is not None
