from __future__ import annotations

from pathlib import Path

from pi.agent.events import AgentStart
from pi.coding.port.ui import ThemeChange
from pi.modes.interactive.extensions.ui import ScreenUI
from pi.modes.interactive.status.activity import Activity
from pi.modes.interactive.status.window_title import WindowTitle
from pi.modes.interactive.transcript.view import TranscriptView
from pi.testing import FakeClock
from pi.tui.terminal import Capabilities
from tests.modes.interactive.extensions.layouts import new_frame
from tests.modes.interactive.fake_screen import FakeScreen
from tests.modes.interactive.transcript.looks import look


class Shown:
    """The UI of extensions with the regions that it changes."""

    def __init__(self, tmp_path: Path) -> None:
        self.written: list[str] = []
        self.worked = 0
        self.screen = FakeScreen(tmp_path)
        self.activity = Activity(FakeClock(), interrupt_key=lambda: "")
        self.activity.on_work = self._work
        self.transcript = TranscriptView(look())
        self.ui = ScreenUI(
            self.screen,
            new_frame(tmp_path),
            self.activity,
            WindowTitle(self.written.append, Capabilities()),
            self.transcript,
        )

    def _work(self) -> None:
        self.worked += 1


async def test_the_activity_can_be_customised(tmp_path: Path) -> None:
    fixture = Shown(tmp_path)
    fixture.activity.handle_event(AgentStart())
    labels = [fixture.activity.label()]

    fixture.ui.set_working_indicator(["*"], 1.0)
    fixture.ui.set_working_message("Pondering")
    labels.append(fixture.activity.label())
    fixture.ui.set_working_visible(visible=False)
    labels.append(fixture.activity.label())
    fixture.ui.set_working_visible(visible=True)
    fixture.ui.set_working_message(None)
    fixture.ui.set_working_indicator(None, None)
    labels.append(fixture.activity.label())

    assert labels == ["⠋ Working", "* Pondering", "", "⠋ Working"]
    assert fixture.worked == 6


async def test_an_extension_can_set_the_window_title_and_the_thinking_label(tmp_path: Path) -> None:
    fixture = Shown(tmp_path)

    fixture.ui.set_title("mine")
    fixture.ui.set_hidden_thinking_label("Hm…")
    assert fixture.transcript.look.thinking_label == "Hm…"
    fixture.ui.set_hidden_thinking_label(None)

    assert fixture.transcript.look.thinking_label == "Thinking…"
    assert (fixture.written, fixture.screen.refreshes) == (["\x1b]0;mine\x07"], 2)


async def test_expanding_tools_twice_refreshes_the_screen_once(tmp_path: Path) -> None:
    fixture = Shown(tmp_path)

    fixture.ui.set_tools_expanded(expanded=True)
    fixture.ui.set_tools_expanded(expanded=True)

    assert (fixture.ui.get_tools_expanded(), fixture.screen.refreshes) == (True, 1)


async def test_themes_are_found_and_chosen_by_name(tmp_path: Path) -> None:
    fixture = Shown(tmp_path)

    light = fixture.ui.get_theme("light")
    assert light is not None
    assert (light.name, fixture.ui.get_theme("nope")) == ("light", None)
    assert {"dark", "light"} <= set(fixture.ui.get_all_themes())

    assert fixture.ui.set_theme("light") == ThemeChange(success=True)
    assert fixture.screen.themes.current == "light"
    assert fixture.screen.port.settings.values.theme == "light"


async def test_an_unknown_theme_changes_nothing(tmp_path: Path) -> None:
    fixture = Shown(tmp_path)

    change = fixture.ui.set_theme("nope")

    assert (change.success, "Unknown theme" in (change.error or "")) == (False, True)
    assert fixture.screen.port.settings.values.theme is None
