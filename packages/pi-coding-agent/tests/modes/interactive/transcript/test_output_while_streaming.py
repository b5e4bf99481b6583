"""Output of commands while an answer streams, on a virtual terminal."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pi.agent.events import MessageEnd, MessageStart, MessageUpdate
from pi.ai.events import TextDelta
from pi.ai.messages import AssistantMessage, Text, Usage
from pi.coding.retry import AutoRetryStart
from pi.coding.session.entries import BashExecution, CustomMessage
from pi.modes.interactive.transcript.view import TranscriptView
from pi.tui.testing import VirtualTerminal
from pi.tui.tui import TUI
from tests.modes.interactive.transcript.looks import look, plain
from tests.tui.manual_timers import ManualTimers
from tests.tui.parts import Rows

ITEMS = [f" {number}. item {number} has its words" for number in range(1, 9)]


class Streaming:
    """A transcript above an editor on a small terminal, and an answer that arrives in pieces."""

    def __init__(self, rows: int = 8) -> None:
        self.timers = ManualTimers()
        self.terminal = VirtualTerminal(40, rows)
        self.view = TranscriptView(look())
        self._tui = TUI(self.terminal, env={}, strict=True)
        self._tui.add_child(self.view.component)
        self._tui.add_child(Rows("editor"))
        self._tui.start(self.timers)

    def grow(self, text: str) -> None:
        change = TextDelta(content_index=0, delta=text)
        update = MessageUpdate(usage=Usage(), assistant_message_event=change)
        self.view.feed.handle_event(update)
        self.paint()

    def end(self) -> None:
        message = AssistantMessage(content=(Text(text="done"),), stop_reason="stop")
        self.view.feed.handle_event(MessageEnd(message=message))
        self.paint()

    def paint(self) -> None:
        self._tui.request_render()
        self.timers.advance(0.5)

    @property
    def tape(self) -> list[str]:
        return [row for row in self.terminal.tape if row]


def show_output(view: TranscriptView) -> None:
    view.add_output(Rows(*(f"output {number}" for number in range(3))))


def show_tall_output(view: TranscriptView) -> None:
    view.add_output(Rows(*(f"output {number}" for number in range(20))))


def run_bash(view: TranscriptView) -> None:
    block = view.begin_bash("ls", is_excluded=False)
    block.append("output 0\n")
    block.end(BashExecution(command="ls", output="output 0\n", exit_code=0, timestamp=0))


def send_message(view: TranscriptView) -> None:
    message = CustomMessage(custom_type="note", content="output 0", display=True)
    view.feed.handle_event(MessageStart(message=message))


@pytest.mark.behaviour("committed-rows-are-final")
@pytest.mark.parametrize("show", [show_output, show_tall_output, run_bash, send_message])
@pytest.mark.parametrize("rows", [8, 30])
def test_output_during_an_answer_is_shown_below_it_and_splits_no_list_item(
    show: Callable[[TranscriptView], None], rows: int
) -> None:
    streaming = Streaming(rows)
    for item in ITEMS[:4]:
        streaming.grow(f"{item.strip()}\n")
    streaming.grow("5. item 5 has ")
    settled = streaming.terminal.history

    show(streaming.view)
    streaming.paint()
    assert any("output" in row for row in streaming.terminal.screen)
    streaming.grow("its words\n")
    for item in ITEMS[5:]:
        streaming.grow(f"{item.strip()}\n")
    streaming.end()

    tape = streaming.tape
    first = tape.index(ITEMS[0])
    assert tape[first : first + len(ITEMS)] == ITEMS
    assert [row for row in tape if "item" in row] == ITEMS
    assert "output 0" in " ".join(tape[first + len(ITEMS) :])
    assert streaming.terminal.history[: len(settled)] == settled


def test_output_during_a_retry_does_not_end_the_retry() -> None:
    view = TranscriptView(look())
    failed = AssistantMessage(stop_reason="error", error_message="overloaded")
    view.feed.handle_event(MessageEnd(message=failed))
    retry = AutoRetryStart(attempt=1, max_attempts=3, delay_ms=1, error_message="overloaded")
    view.feed.handle_event(retry)
    waiting = plain(view.component)

    show_output(view)

    assert plain(view.component)[: len(waiting)] == waiting
