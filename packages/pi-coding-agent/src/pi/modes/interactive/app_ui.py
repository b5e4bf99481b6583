"""Implements ``Ui``, the screen as dialogs and commands use it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pi.base.clock import Clock
from pi.base.processes import SpawnFailed
from pi.base.processes.terminal import run_attached
from pi.base.tasks import TaskScope
from pi.coding.runtime.local_tools import environment_of_programs
from pi.coding.runtime.machine import Machine
from pi.modes.interactive.external_editor import (
    EDITOR_HINT,
    EditorFailed,
    describe_ending,
    edit_text,
    editor_command,
)
from pi.modes.interactive.layout import AppLayout
from pi.modes.interactive.status.activity import Activity
from pi.modes.interactive.transcript.notices import DividerBlock
from pi.modes.interactive.transcript.view import TranscriptView
from pi.modes.interactive.ui import Build, Level, OverlayShown, T, report_errors
from pi.tui.component import Component
from pi.tui.desktop import Clipboard
from pi.tui.display import NewPage
from pi.tui.overlays import OverlayOptions

if TYPE_CHECKING:
    from pi.coding.port.session import SessionPort


# User interface -----------------------------------------------------------------------------------

_PASSING: dict[Level, str] = {"info": "muted", "success": "success"}
"""Levels shown as transient notices; others are added to the transcript."""


class AppUi:
    """Delegates to the parts of the screen; owns only the open dialogs."""

    def __init__(
        self,
        frame: AppLayout,
        transcript: TranscriptView,
        activity: Activity,
        *,
        clock: Clock,
        tasks: TaskScope,
        clipboard: Clipboard,
        cwd: Callable[[], Path],
        system: str,
        reload: Callable[[], None],
        quit: Callable[[], None],
    ) -> None:
        self._frame = frame
        self._transcript = transcript
        self._activity = activity
        self._session: tuple[SessionPort, Machine] | None = None
        self._cwd = cwd
        self._system = system
        self.theme = frame.theme
        self.themes = frame.themes
        self.keymap = frame.keymap
        self.clock = clock
        self.tasks = tasks
        self.clipboard = clipboard
        self.reload_session = reload
        self.quit = quit
        self.working = activity.working
        """Shows a label while work is in progress."""

    def open(self, port: SessionPort, host: Machine) -> None:
        """Set the session and the machine, once the session is open."""
        self._session = (port, host)

    @property
    def port(self) -> SessionPort:
        """The session. Raises ``RuntimeError`` before it is open."""
        return self._require_session()[0]

    @property
    def host(self) -> Machine:
        """The machine. Raises ``RuntimeError`` before the session is open."""
        return self._require_session()[1]

    @property
    def rows(self) -> int:
        """Height of the screen in rows."""
        return self._frame.tui.terminal.size.rows

    @property
    def is_still(self) -> bool:
        """Whether nothing may move by itself, such as a spinner."""
        return self._activity.indicator.is_still

    async def show(self, build: Build[T]) -> T:
        """Show a component in place of the editor until it returns an answer.

        It waits for a pause while the user is typing.
        """
        await self._frame.composer.typing.wait()
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        component = build(_settler(answer))
        self._frame.slot.push(component)
        self.request_render()
        try:
            return await answer
        finally:
            self._frame.slot.remove(component)
            self.request_render()

    async def overlay(
        self,
        build: Build[T],
        options: OverlayOptions | None = None,
        *,
        on_shown: OverlayShown | None = None,
    ) -> T:
        """Show an overlay until it returns an answer; waits like ``show`` if it captures keys."""
        if options is None or not options.non_capturing:
            await self._frame.composer.typing.wait()
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        handle = self._frame.tui.show_overlay(build(_settler(answer)), options)
        try:
            if on_shown is not None:
                on_shown(handle)
            return await answer
        finally:
            handle.hide()
            self.request_render()

    def notify(self, text: str, level: Level = "info") -> None:
        """Show a transient notice, or add warnings and errors to the transcript."""
        if level in _PASSING:
            self._frame.passing.show(text, _PASSING[level])
        else:
            self._transcript.notice(text, level)
        self.request_render()

    def add_output(self, block: Component) -> None:
        """Add a component to the transcript."""
        self._transcript.add_output(block)
        self.request_render()

    def get_editor_text(self) -> str:
        """The text in the editor."""
        return self._frame.composer.text

    def set_editor_text(self, text: str) -> None:
        """Replace the text in the editor."""
        self._frame.composer.set_text(text)
        self.request_render()

    def request_render(self) -> None:
        """Request a frame."""
        self._frame.tui.request_render()

    def shown_rows(self) -> list[str]:
        """Everything that is drawn, with its escape sequences."""
        tui = self._frame.tui
        return tui.display.root.render(tui.terminal.size.columns)

    def refresh(self, title: str = "") -> None:
        """Redraw everything."""
        self._frame.tui.reset_display(self.page(title) if title else None)

    def page(self, title: str, *, is_other_text: bool = False, is_forced: bool = False) -> NewPage:
        """Return a page of history that begins with a titled line."""
        line = DividerBlock(self._transcript.look, title)
        return NewPage(heading=line.render, is_other_text=is_other_text, is_forced=is_forced)

    async def edit_file(self, path: Path, environ: Mapping[str, str]) -> None:
        """Open a file in the external editor of the variables; errors are shown."""
        with report_errors(self):
            command = editor_command(None, environ, self._system)
            with self._released_terminal():
                try:
                    code = await run_attached([*command, str(path)], cwd=self._cwd(), env=environ)
                except SpawnFailed as error:
                    raise SpawnFailed(error.message, hint=EDITOR_HINT) from error
            if code:
                raise EditorFailed(f"{command[0]} {describe_ending(code)}.", hint=EDITOR_HINT)

    async def open_external_editor(self, text: str, *, suffix: str = ".md") -> str | None:
        """Return the text edited in the external editor; ``None`` after an error, which is shown.

        The editor gets the whole terminal meanwhile.
        """
        port, host = self._require_session()
        edited: str | None = None
        with report_errors(self):
            command = editor_command(
                port.settings.values.external_editor, host.environ, self._system
            )
            with self._released_terminal():
                variables = environment_of_programs(host, port.settings)
                cwd = self._cwd()
                edited = await edit_text(text, command, suffix=suffix, cwd=cwd, env=variables)
        return edited

    @contextmanager
    def _released_terminal(self) -> Iterator[None]:
        """Give the whole terminal to another program during the block."""
        tui = self._frame.tui
        tui.stop(for_now=True)
        try:
            yield
        finally:
            tui.display.resume(tui.terminal.size)
            tui.request_render(clear_scrollback=True)  # the previous text stays
            tui.start()

    def _require_session(self) -> tuple[SessionPort, Machine]:
        if self._session is None:
            raise RuntimeError("there is no session yet")
        return self._session


def _settler(answer: asyncio.Future[T]) -> Callable[[T], None]:
    def settle(value: T) -> None:
        if not answer.done():
            answer.set_result(value)

    return settle
