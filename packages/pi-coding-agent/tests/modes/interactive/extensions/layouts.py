"""An unpainted first frame for components of extensions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pi.base.tasks import TaskScope
from pi.modes.interactive.extensions.ui import ScreenUI
from pi.modes.interactive.layout import AppLayout
from pi.modes.interactive.status.activity import Activity
from pi.modes.interactive.status.window_title import WindowTitle
from pi.modes.interactive.transcript.view import TranscriptView
from pi.modes.interactive.ui import Ui
from pi.testing import FakeClock
from pi.tui.component import Component
from pi.tui.terminal import Capabilities
from pi.tui.testing import VirtualTerminal
from pi.tui.text.ansi import strip_sequences
from tests.modes.interactive.app_fixture import AppFixture
from tests.modes.interactive.transcript.looks import look


def new_frame(tmp_path: Path, rows: int = 24) -> AppLayout:
    """A frame on a terminal of that height."""
    start = AppFixture(tmp_path).start
    terminal = VirtualTerminal(80, rows)
    return AppLayout(start, terminal, tasks=TaskScope(), on_disconnect=lambda: None, strict=True)


def new_ui(screen: Ui, frame: AppLayout) -> ScreenUI:
    """The UI of extensions on a screen, with regions of its own."""
    activity = Activity(FakeClock(), interrupt_key=lambda: "")
    window = WindowTitle(lambda text: None, Capabilities())
    return ScreenUI(screen, frame, activity, window, TranscriptView(look()))


def plain(component: Component, width: int = 20) -> list[str]:
    """The rows of a component without colours."""
    return [strip_sequences(row).rstrip() for row in component.render(width)]


class Line:
    """Draws one line and handles keys."""

    def __init__(self, text: str = "", *arguments: Any) -> None:
        self.text = text
        self.given = arguments
        self.focused = False
        self.forgotten = 0

    def render(self, width: int) -> Sequence[str]:
        """The line; raises for some texts."""
        if self.text == "broken":
            raise ValueError("no rows")
        return [self.text]

    def handle_input(self, data: str) -> None:
        """Add to the line."""
        if data == "\x1b":
            raise ValueError("no such key")
        self.text += data

    def invalidate(self) -> None:
        """Count it."""
        self.forgotten += 1


class Editor(Line):
    """Just enough of an editor."""

    on_submit: Any = None

    def get_text(self) -> str:
        """What is written."""
        return self.text

    def set_text(self, text: str) -> None:
        """Write something else."""
        self.text = text


class FullEditor(Editor):
    """An editor with all optional methods."""

    border_color: Any = None

    def __init__(self) -> None:
        super().__init__()
        self.reported: list[Any] = []

    def get_expanded_text(self) -> str:
        """The text in full."""
        return f"{self.text} in full"

    def insert_text_at_cursor(self, text: str) -> None:
        """Put it first."""
        self.text = text + self.text

    def add_to_history(self, text: str) -> None:
        """Remember it."""
        self.reported.append(text)

    def set_padding_x(self, columns: int) -> None:
        """Remember it."""
        self.reported.append(columns)
