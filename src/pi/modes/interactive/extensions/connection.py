"""Connects the extensions of a session with the screen."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pi.base.terminal_text import one_line
from pi.coding.port.extensions import ExtensionsPort
from pi.coding.port.session import SessionPort
from pi.coding.session.context import DisplayTranscript
from pi.modes.interactive.app_ui import AppUi
from pi.modes.interactive.extensions.ui import DisplayControls, ScreenUI
from pi.modes.interactive.extensions.views import ExtensionViews
from pi.modes.interactive.layout import AppLayout
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.transcript.view import MOST_LOADED, MOST_UNFOLDED, TranscriptView
from pi.tui.completion.provider import Provider
from pi.tui.input.keymap import Keymap
from pi.tui.input.keys import canonical, find_key, key_names
from pi.tui.terminal import Size
from pi.tui.text.width import truncate_to_width
from pi.tui.tui import TUI

if TYPE_CHECKING:
    from pi.coding.extension_host.watchdog import Stalled


# Keys that extensions want: those that mean nothing else.


class Shortcuts:
    """Gives free keys to extensions. ``press`` does what a key of theirs is for."""

    def __init__(
        self, extensions: ExtensionsPort, keymap: Keymap, press: Callable[[str], None]
    ) -> None:
        self._extensions = extensions
        self._keymap = keymap
        self._press = press
        self._told: set[str] = set()

    def take(self, data: str) -> bool:
        """Whether an extension wants a key that means nothing else; it is pressed then."""
        wanted = {canonical(key): key for key in self._extensions.shortcuts()}
        for name in key_names(data) if wanted else ():
            if name in wanted and not self._keymap.bound(name, "prompt"):
                self._press(wanted[name])
                return True
        return False

    def problems(self) -> list[str]:
        """What is wrong with keys that extensions want, in a line each, and each only once."""
        wanted = self._extensions.shortcuts().items()
        found = [text for key, purpose in wanted if (text := self._problem(key, purpose))]
        new = [text for text in found if text not in self._told]
        self._told.update(new)
        return new

    def _problem(self, key: str, purpose: str) -> str:
        name = canonical(key)
        wish = f"An extension wants the key {key}{f' ({purpose})' if purpose else ''}"
        if name is None:
            return f"{wish}, which there is not."
        actions = self._keymap.bound(name, "prompt")
        if not actions:
            return ""
        return (
            f"{wish}, which is {' and '.join(actions)}."
            " To give it away, bind that to other keys in keybindings.json."
        )


class ExtensionConnection:
    """Made behind the first frame; ``open`` lets the extensions of a session reach the person.

    ``reloaded`` is called when everything but the conversation may be another.
    """

    def __init__(
        self,
        screen: AppUi,
        frame: AppLayout,
        transcript: TranscriptView,
        showing: DisplayControls,
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
        await port.extensions.wait_for_shutdown()
        self._screen.quit()


# While an extension hangs: a line that names it, and Ctrl+C, from a thread beside it.


LOOK_SECONDS = 0.1
"""Between two looks at the keys that were pressed."""


@runtime_checkable
class HangNotice(Protocol):
    """A terminal that another thread can use while the program hangs."""

    @property
    def size(self) -> Size:
        """The size now."""
        ...

    @property
    def backlog(self) -> int:
        """Characters that were written but not taken yet."""
        ...

    def write(self, data: str) -> None:
        """Send characters."""
        ...

    def read_aside(self, take: Callable[[bytes], bytes]) -> None:
        """Read what was typed; what ``take`` leaves of it reaches the program when it goes on."""
        ...


class HangWatchdog:
    """Called by the watch over extensions, in its thread; returns when nothing hangs any more."""

    def __init__(self, tui: TUI, terminal: HangNotice, theme: Theme) -> None:
        self._tui = tui
        self._terminal = terminal
        self._theme = theme
        self._loop = asyncio.get_running_loop()

    def __call__(self, stalled: Stalled) -> None:
        """Let the person end what hangs; if it defies that, let them end pi."""
        name = stalled.owner.name
        self._show(f"{name} does not return from {stalled.function}. Ctrl+C ends it.")
        presses = 0
        while not stalled.over.wait(LOOK_SECONDS):
            before, presses = presses, presses + self._presses()
            if presses and not before:
                stalled.end()
                self._show(f"{name} is being ended. If it defies that, Ctrl+C again ends pi.")
            elif presses > before:
                os.kill(os.getpid(), signal.SIGTERM)
        self._loop.call_soon_threadsafe(partial(self._tui.request_render, force=True))

    def _presses(self) -> int:
        """How often Ctrl+C was pressed since the last look; other keys wait for the program."""
        presses = 0

        def take(data: bytes) -> bytes:
            nonlocal presses
            rest, presses = find_key(data, "ctrl+c")
            return rest

        self._terminal.read_aside(take)
        return presses

    def _show(self, text: str) -> None:
        """Write over the last row; the whole window is painted again afterwards."""
        if self._terminal.backlog:  # it would end up in the middle of something else
            return
        size = self._terminal.size
        line = self._theme.paint("warning")(truncate_to_width(one_line(text), size.columns - 1))
        self._terminal.write(f"\x1b7\x1b[{size.rows};1H\x1b[2K{line}\x1b8")


def rescue_on(tui: TUI, theme: Theme) -> HangWatchdog | None:
    """What to do while an extension hangs, if the terminal lets another thread help."""
    terminal = tui.terminal
    return HangWatchdog(tui, terminal, theme) if isinstance(terminal, HangNotice) else None
