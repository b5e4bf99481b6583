"""A terminal that counts its output, and a screen like that of the product."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from pi.tui.terminal import Capabilities, Listener, Size
from pi.tui.transcript import Transcript
from pi.tui.tui import TUI
from pi.tui.widgets.editor.editor import Editor
from pi.tui.widgets.loader import Loader
from pi.tui.widgets.markdown.widget import Markdown
from pi.tui.widgets.text import Text

TEXT = (
    "The renderer keeps **rows** that are final and `never` writes them again. "
    "A reader who scrolls up stays where he is, whatever comes. "
)
WORDS = TEXT.split()


class CountingTerminal:
    """80 by 24 cells; output is only counted."""

    def __init__(self) -> None:
        self.size = Size(columns=80, rows=24)
        self.backlog = 0
        self.count = 0

    def start(self, listener: Listener, *, restore: Callable[[], str]) -> None:
        """Do nothing: there is no input."""

    def write(self, data: str) -> None:
        """Count the bytes."""
        self.count += len(data.encode())

    def stop(self) -> None:
        """Do nothing."""

    def suspend(self) -> None:
        """Do nothing."""


class Never:
    """A timer that never fires."""

    def cancel(self) -> None:
        """Do nothing."""


class NoTimers:
    """Frames are painted only when the program requests it."""

    def time(self) -> float:
        """Always the same."""
        return 0.0

    def call_later(self, delay: float, callback: Callable[[], object]) -> Never:
        """Do not call back."""
        return Never()


class Program:
    """A transcript with a streaming answer, a spinner and an editor."""

    def __init__(self, *, rows: int = 0) -> None:
        self.terminal = CountingTerminal()
        self.tui = TUI(self.terminal, env={}, capabilities=Capabilities(synchronized=True))
        self.transcript = Transcript()
        for number in range(rows // 4):
            self.transcript.add_child(Text(f"message {number}\n\nsome text\nmore text", 1, 0))
        self.answer = Markdown(is_streaming=True)
        self.loader = Loader("Working")
        self.editor = Editor()
        self.transcript.add_child(self.answer)
        self.tui.add_child(self.transcript)
        self.tui.add_child(self.loader)
        self.tui.add_child(self.editor)
        self.tui.set_focus(self.editor)
        self.tui.start(NoTimers())

    def add(self, text: str) -> None:
        """Add a delta to the answer."""
        self.answer.append(text)

    def frame(self) -> None:
        """Paint the changes."""
        self.tui.request_render()
        self.tui.render_now()


def deltas(count: int) -> Iterator[str]:
    """A Markdown text in pieces of about six characters: paragraphs, lists and code."""
    for number in range(count):
        word = WORDS[number % len(WORDS)]
        match number % 240:
            case 60:
                yield "\n\n- "
            case 80:
                yield "\n- "
            case 110:
                yield "\n\n```python\n"
            case 130:
                yield "\n```\n\n"
            case 200:
                yield "\n\n"
            case _:
                yield word + " "


def cpu(act: Callable[[], object]) -> float:
    """Seconds of CPU that something takes."""
    begin = time.process_time()
    act()
    return time.process_time() - begin
