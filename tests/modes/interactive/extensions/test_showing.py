from __future__ import annotations

from pi.agent.events import AgentStart
from pi.modes.interactive.extensions.ui import DisplayControls
from pi.modes.interactive.status.activity import Activity
from pi.modes.interactive.status.status import WindowTitle
from pi.modes.interactive.transcript.view import TranscriptView
from pi.testing import FakeClock
from pi.tui.terminal import Capabilities
from tests.modes.interactive.transcript.looks import look


class Shown:
    """The regions that are changed, and what came of it."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.refreshed = 0
        self.worked = 0
        self.activity = Activity(FakeClock(), interrupt_key=lambda: "")
        self.activity.on_work = self._work
        self.transcript = TranscriptView(look())
        self.showing = DisplayControls(
            self.activity,
            WindowTitle(self.written.append, Capabilities()),
            self.transcript,
            refresh=self._refresh,
        )

    def _refresh(self) -> None:
        self.refreshed += 1

    def _work(self) -> None:
        self.worked += 1


async def test_the_activity_can_be_customised() -> None:
    shown = Shown()
    shown.activity.handle_event(AgentStart())
    labels = [shown.activity.label()]

    shown.showing.set_working_frames(["*"], 1.0)
    shown.showing.set_working_message("Pondering")
    labels.append(shown.activity.label())
    shown.showing.set_working_visible(visible=False)
    labels.append(shown.activity.label())
    shown.showing.set_working_visible(visible=True)
    shown.showing.set_working_message(None)
    shown.showing.set_working_frames(None, None)
    labels.append(shown.activity.label())

    assert labels == ["⠋ Working", "* Pondering", "", "⠋ Working"]
    assert shown.worked == 6


async def test_the_window_and_thoughts_are_called_something_else() -> None:
    shown = Shown()

    shown.showing.set_title("mine")
    shown.showing.set_thinking_label("Hm…")
    assert shown.transcript.look.thinking_label == "Hm…"
    shown.showing.set_thinking_label(None)

    assert shown.transcript.look.thinking_label == "Thinking…"
    assert (shown.written, shown.refreshed) == (["\x1b]0;mine\x07"], 2)


async def test_outputs_are_unfolded_once() -> None:
    shown = Shown()

    shown.showing.expand(expanded=True)
    shown.showing.expand(expanded=True)

    assert (shown.showing.is_expanded, shown.refreshed) == (True, 1)
