"""Connects the extensions of a session with the screen."""

from __future__ import annotations

from collections.abc import Callable

from pi.coding.runtime.port import SessionPort
from pi.coding.session.context import DisplayTranscript
from pi.modes.interactive.extensions.shortcuts import Shortcuts
from pi.modes.interactive.extensions.showing import Showing
from pi.modes.interactive.extensions.ui import ScreenUI
from pi.modes.interactive.extensions.views import ExtensionViews
from pi.modes.interactive.frame import Frame
from pi.modes.interactive.screen import Screen
from pi.modes.interactive.transcript.view import MOST_LOADED, MOST_UNFOLDED, TranscriptView
from pi.tui.completion.provider import Provider


class ExtensionConnection:
    """Made behind the first frame; ``open`` lets the extensions of a session reach the person.

    ``reloaded`` is called when everything but the conversation may be another.
    """

    def __init__(
        self,
        screen: Screen,
        frame: Frame,
        transcript: TranscriptView,
        showing: Showing,
        *,
        reloaded: Callable[[], None],
    ) -> None:
        self._screen = screen
        self._frame = frame
        self._transcript = transcript
        self._reload = reloaded
        self.ui = ScreenUI(screen, frame, showing)
        """How extensions reach the person."""
        self._shortcuts: Shortcuts | None = None

    def open(self, port: SessionPort) -> None:
        """The session is there, and is about to be started."""
        extensions, look, tui = port.extensions, self._transcript.look, self._frame.tui
        extensions.attach(self.ui, "tui")
        extensions.on_moved(self._moved, self._reloaded)
        look.views = views = ExtensionViews(
            extensions,
            self.ui.colours,
            pad=lambda: look.pad,
            columns=lambda: tui.terminal.size.columns,
        )
        self.ui.regions.statuses.draw = views.status
        self._shortcuts = Shortcuts(extensions, self._frame.keymap, self._press)
        self._frame.composer.prompt.on_key = self._shortcuts.take
        self._frame.composer.mode_of = extensions.input_mode
        self._screen.tasks.start(self._leave(port), name="waiting for the end")

    def complete_with(self, usual: Provider) -> None:
        """Say what is suggested where no extension knows something."""
        self.ui.completing.complete_with(usual)

    def load(self, port: SessionPort) -> None:
        """Show a conversation of before, with what extensions have kept in it."""
        views = self._transcript.look.views
        shows = views.shows if views.shows_entries else None

        def earlier(end: int | None) -> DisplayTranscript:
            return port.facts.transcript(MOST_UNFOLDED, shows, end=end)

        self._transcript.load(port.facts.transcript(MOST_LOADED, shows), earlier)

    def tell_problems(self) -> None:
        """Say which keys extensions cannot have."""
        for problem in self._shortcuts.problems() if self._shortcuts else ():
            self._screen.notify(problem, "warning")

    def _moved(self) -> None:
        self._screen.reload_session()
        self.tell_problems()

    def _reloaded(self) -> None:
        self._reload()
        self.tell_problems()

    def _press(self, key: str) -> None:
        work = self._screen.port.extensions.press(key)
        self._screen.tasks.start(work, name=f"shortcut {key}")

    async def _leave(self, port: SessionPort) -> None:
        await port.extensions.shutdown_wanted()
        self._screen.quit()
