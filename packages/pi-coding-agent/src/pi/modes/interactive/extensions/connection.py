"""Connects the extensions of a session with the screen: views, shortcuts, UI, hang watchdog."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pi.base.terminal_text import one_line, sanitise_keeping_links, sanitise_keeping_style
from pi.coding.extension_host.contributions.views import CodeView, ToolView
from pi.coding.port.extensions import ExtensionsPort, ViewKind, ViewOptions
from pi.coding.port.session import SessionPort
from pi.coding.session.display import DisplayTranscript
from pi.coding.session.entries import Custom, CustomMessage
from pi.coding.settings.layers import value_at
from pi.modes.interactive.app_ui import AppUi
from pi.modes.interactive.extensions.drawing import ExtensionTheme, fitting
from pi.modes.interactive.extensions.ui import ScreenUI, Waiting
from pi.modes.interactive.layout import AppLayout
from pi.modes.interactive.status.activity import Activity
from pi.modes.interactive.status.status import WindowTitle
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.transcript.block import MarkdownKind, RendererHooks, ToolCallState
from pi.modes.interactive.transcript.view import MAX_LOADED, MAX_UNFOLDED, TranscriptView
from pi.tui.input.keymap import Keymap
from pi.tui.input.keys import canonical, find_key, key_names
from pi.tui.terminal import Size
from pi.tui.text.width import truncate_to_width
from pi.tui.tui import TUI

if TYPE_CHECKING:
    from pi.coding.extension_host.watchdog import Stalled


# Views in the transcript --------------------------------------------------------------------------


class ExtensionViews(RendererHooks):
    """Implements ``RendererHooks`` with extensions; ``columns`` is the width of the screen.

    ``is_off`` returns whether code of a language is shown as source, ``has_hyperlinks`` whether the
    terminal shows links (OSC 8).
    """

    def __init__(
        self,
        extensions: ExtensionsPort,
        colours: ExtensionTheme,
        *,
        pad: Callable[[], int],
        columns: Callable[[], int],
        is_off: Callable[[str], bool] = lambda language: False,
        has_hyperlinks: Callable[[], bool] = lambda: False,
    ) -> None:
        self._extensions = extensions
        self._colours = colours
        self._pad = pad
        self._columns = columns
        self._is_off = is_off
        self._has_hyperlinks = has_hyperlinks

    def tool(self, call: ToolCallState, width: int, *, expanded: bool) -> list[str] | None:
        """Draw a tool call."""
        if not self._extensions.views.has("tool", call.name):
            return None
        view = ToolView(
            id=call.id,
            name=call.name,
            arguments=call.arguments,
            state=call.state,
            text=call.text,
            details=call.details,
        )
        return self._rows("tool", call.name, view, width, expanded=expanded)

    def message(self, message: CustomMessage, width: int, *, expanded: bool) -> list[str] | None:
        """Draw a message of an extension."""
        return self._rows("message", message.custom_type, message, width, expanded=expanded)

    def entry(self, entry: Custom, width: int, *, expanded: bool) -> list[str] | None:
        """Draw an entry of an extension."""
        return self._rows("entry", entry.custom_type, entry, width, expanded=expanded)

    @property
    def shows_entries(self) -> bool:
        """Whether any entries are drawn."""
        return self._extensions.views.has_any("entry")

    def shows(self, entry: Custom) -> bool:
        """Whether an entry is drawn."""
        return self._extensions.views.has("entry", entry.custom_type)

    def markdown(self, text: str, kind: MarkdownKind, *, is_streaming: bool = False) -> str:
        """Return a text as extensions transform it."""
        about = {
            "message_type": kind,
            "is_streaming": is_streaming,
            "available_width": self._columns(),
        }
        return self._extensions.views.markdown(text, about)

    def draws_code(self, language: str) -> bool:
        """Whether an extension draws code of a language, and the user has not switched it off."""
        name = language.lower()
        return self._extensions.views.has("code", name) and not self._is_off(name)

    def code(self, language: str, text: str, width: int, *, is_open: bool) -> list[str] | None:
        """Draw code; ``None`` if the source is shown."""
        view = CodeView(language=language, text=text, is_open=is_open)
        return self._rows("code", language.lower(), view, width, expanded=False)

    def status(self, key: str, text: str, width: int) -> str | None:
        """Draw a status text of an extension."""
        rows = self._rows("status", key, text, width, expanded=False)
        return rows[0] if rows else None

    def _rows(
        self, kind: ViewKind, name: str, thing: object, width: int, *, expanded: bool
    ) -> list[str] | None:
        has_hyperlinks = self._has_hyperlinks()
        options = ViewOptions(expanded=expanded, output_pad=self._pad(), hyperlinks=has_hyperlinks)
        rows = self._extensions.views.rows(kind, name, thing, options, self._colours, width)
        if rows is None:
            return None
        # A view may contain text of a model or a session file, including control sequences.
        sanitise = sanitise_keeping_links if has_hyperlinks else sanitise_keeping_style
        safe = [sanitise(row) for row in rows]
        if kind == "code":  # wrapped lines of a drawing are unreadable: the source is shown instead
            return safe
        # A view that returns text does not know the width: its lines are wrapped, not truncated.
        # Deferred: the footer is shown before the views of tools are loaded.
        from pi.modes.interactive.transcript.tool_views.view import wrap_lines

        return fitting(safe if kind == "status" else wrap_lines(safe, width), width)


# Shortcuts ----------------------------------------------------------------------------------------


class Shortcuts:
    """Assigns unbound keys to extensions. ``press`` runs a shortcut."""

    def __init__(
        self, extensions: ExtensionsPort, keymap: Keymap, press: Callable[[str], None]
    ) -> None:
        self._extensions = extensions
        self._keymap = keymap
        self._press = press
        self._reported: set[str] = set()

    def handle_key(self, data: str) -> bool:
        """Run the extension shortcut of an unbound key; returns whether there is one."""
        shortcuts = {canonical(key): key for key in self._extensions.shortcuts()}
        for name in key_names(data) if shortcuts else ():
            if name in shortcuts and not self._keymap.bound(name, "prompt"):
                self._press(shortcuts[name])
                return True
        return False

    def conflicts(self) -> list[str]:
        """Return the conflicts of extension shortcuts, one line each, and each only once."""
        shortcuts = self._extensions.shortcuts().items()
        conflicts = [text for key, purpose in shortcuts if (text := self._conflict(key, purpose))]
        new = [text for text in conflicts if text not in self._reported]
        self._reported.update(new)
        return new

    def _conflict(self, key: str, purpose: str) -> str:
        name = canonical(key)
        shortcut = f"Extension shortcut {key}{f' ({purpose})' if purpose else ''}"
        if name is None:
            return f"{shortcut}: unknown key."
        actions = self._keymap.bound(name, "prompt")
        if not actions:
            return ""
        return (
            f"{shortcut}: already bound to {' and '.join(actions)}."
            " Change that binding in keybindings.json to free the key."
        )


# Connection ---------------------------------------------------------------------------------------


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


# Blocked event loop -------------------------------------------------------------------------------


LOOK_SECONDS = 0.1
"""Interval at which pressed keys are read."""


@runtime_checkable
class ThreadSafeTerminal(Protocol):
    """A terminal that another thread can use while the event loop is blocked."""

    @property
    def size(self) -> Size:
        """The current size."""
        ...

    @property
    def backlog(self) -> int:
        """Characters that are written but not yet sent."""
        ...

    def write(self, data: str) -> None:
        """Send characters."""
        ...

    def read_aside(self, consume: Callable[[bytes], bytes]) -> None:
        """Read input. What ``consume`` returns is handled when the event loop continues."""
        ...


class StallHandler:
    """Shows which extension blocks the event loop, and handles Ctrl+C.

    The watchdog calls it in its thread; it returns when the extension no longer blocks.
    """

    def __init__(self, tui: TUI, terminal: ThreadSafeTerminal, theme: Theme) -> None:
        self._tui = tui
        self._terminal = terminal
        self._theme = theme
        self._loop = asyncio.get_running_loop()

    def __call__(self, stalled: Stalled) -> None:
        """Let the user end the blocking extension; a second Ctrl+C quits pi."""
        name = stalled.owner.name
        self._show(f"Extension {name} is blocking in {stalled.function}. Ctrl+C stops it.")
        presses = 0
        while not stalled.over.wait(LOOK_SECONDS):
            before, presses = presses, presses + self._presses()
            if presses and not before:
                stalled.end()
                self._show(f"Stopping extension {name}. Press Ctrl+C again to quit.")
            elif presses > before:
                os.kill(os.getpid(), signal.SIGTERM)
        self._loop.call_soon_threadsafe(partial(self._tui.request_render, force=True))

    def _presses(self) -> int:
        """Return how often Ctrl+C was pressed; other keys are kept for the event loop."""
        presses = 0

        def count_presses(data: bytes) -> bytes:
            nonlocal presses
            rest, presses = find_key(data, "ctrl+c")
            return rest

        self._terminal.read_aside(count_presses)
        return presses

    def _show(self, text: str) -> None:
        """Overwrite the last row; the whole window is painted again afterwards."""
        if self._terminal.backlog:  # it would be written in the middle of a sequence
            return
        size = self._terminal.size
        line = self._theme.paint("warning")(truncate_to_width(one_line(text), size.columns - 1))
        self._terminal.write(f"\x1b7\x1b[{size.rows};1H\x1b[2K{line}\x1b8")


def stall_handler(tui: TUI, theme: Theme) -> StallHandler | None:
    """Return the watchdog, if the terminal can be used from another thread."""
    terminal = tui.terminal
    return StallHandler(tui, terminal, theme) if isinstance(terminal, ThreadSafeTerminal) else None
