"""Connects the extensions of a session with the screen."""

from __future__ import annotations

from collections.abc import Callable

from pi.coding.port.session import SessionPort
from pi.coding.session.display import DisplayTranscript
from pi.coding.settings.layers import value_at
from pi.modes.interactive.app_ui import AppUi
from pi.modes.interactive.extensions.shortcuts import Shortcuts
from pi.modes.interactive.extensions.ui import ScreenUI, Waiting
from pi.modes.interactive.extensions.views import ExtensionViews
from pi.modes.interactive.layout import AppLayout
from pi.modes.interactive.status.activity import Activity
from pi.modes.interactive.status.window_title import WindowTitle
from pi.modes.interactive.transcript.view import MAX_LOADED, MAX_UNFOLDED, TranscriptView

# Shortcuts ----------------------------------------------------------------------------------------


class ExtensionConnection:
    """Created after the first frame; ``open`` connects the extensions of a session.

    ``reloaded`` is called when everything but the conversation may have changed.
    """

    def __init__(
        self,
        screen: AppUi,
        frame: AppLayout,
        transcript: TranscriptView,
        activity: Activity,
        window: WindowTitle,
        *,
        facts_changed: Callable[[], None],
        waiting: Waiting,
        reloaded: Callable[[], None],
    ) -> None:
        self._screen = screen
        self._frame = frame
        self._transcript = transcript
        self._reload = reloaded
        self.ui = ScreenUI(
            screen, frame, activity, window, transcript, facts_changed, waiting=waiting
        )
        """The UI of extensions."""
        self._shortcuts: Shortcuts | None = None

    def open(self, port: SessionPort) -> None:
        """Connect the extensions of a session that is about to start."""
        extensions, look, tui = port.extensions, self._transcript.look, self._frame.tui
        extensions.attach(self.ui, "tui")
        extensions.on_moved(self._handle_move, self._handle_reload)
        look.views = views = ExtensionViews(
            extensions,
            self.ui.colours,
            pad=lambda: look.pad,
            columns=lambda: tui.terminal.size.columns,
            is_off=lambda language: value_at(port.settings.raw, ("markdown", language)) == "off",
            has_hyperlinks=lambda: look.has_hyperlinks,
        )
        self.ui.regions.statuses.draw = views.status
        self._shortcuts = Shortcuts(extensions, self._frame.keymap, self._press)
        self._frame.composer.prompt.on_key = self._shortcuts.handle_key
        self._frame.composer.mode_of = extensions.input_mode
        self._screen.tasks.start(self._leave(port), name="waiting for the end")

    def load(self, port: SessionPort) -> None:
        """Show a stored conversation, with the entries of extensions."""
        views = self._transcript.look.views
        shows = views.shows if views.shows_entries else None

        def earlier(end: int | None) -> DisplayTranscript:
            return port.info.transcript(MAX_UNFOLDED, shows, end=end)

        self._transcript.load(port.info.transcript(MAX_LOADED, shows), earlier)

    def report_conflicts(self) -> None:
        """Report shortcuts that extensions cannot have."""
        for conflict in self._shortcuts.conflicts() if self._shortcuts else ():
            self._screen.notify(conflict, "warning")

    def _handle_move(self) -> None:
        self._screen.reload_session()
        self.report_conflicts()

    def _handle_reload(self) -> None:
        self._reload()
        self.report_conflicts()

    def _press(self, key: str) -> None:
        work = self._screen.port.extensions.press(key)
        self._screen.tasks.start(work, name=f"shortcut {key}")

    async def _leave(self, port: SessionPort) -> None:
        await port.extensions.shutdown_requested.wait()
        self._screen.quit()
