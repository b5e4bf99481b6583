"""Actions of the keys of the application, such as Escape, and of keys that run commands."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pi.base.clock import Clock
from pi.modes.interactive.app_ui import AppUi
from pi.modes.interactive.composer.composer import Composer
from pi.modes.interactive.prompt_sender import PromptSender
from pi.modes.interactive.quit_keys import DoublePressDetector, QuitKeys
from pi.modes.interactive.status.activity import Activity
from pi.modes.interactive.transcript.view import TranscriptView
from pi.modes.interactive.ui import report_errors

if TYPE_CHECKING:
    from pi.coding.port.session import SessionPort

_COMMANDS = {
    "app.session.new": "new",
    "app.session.tree": "tree",
    "app.session.fork": "fork",
    "app.session.resume": "resume",
    "app.model.select": "model",
    "app.message.copy": "copy",
}
"""Actions that run commands."""


class KeyActions:
    """Dispatches key actions to the parts of the screen; remembers only the last Escape."""

    def __init__(
        self,
        screen: AppUi,
        composer: Composer,
        transcript: TranscriptView,
        activity: Activity,
        prompt_sender: PromptSender,
        quit_keys: QuitKeys,
        *,
        clock: Clock,
        suspend: Callable[[], None],
        paste_image: Callable[[], Coroutine[Any, Any, None]],
        status_changed: Callable[[], None],
    ) -> None:
        self._screen = screen
        self._composer = composer
        self._transcript = transcript
        self._activity = activity
        self._prompt_sender = prompt_sender
        self._quit_keys = quit_keys
        quit_keys.interrupt = self._interrupt_run
        self._escapes = DoublePressDetector(clock)
        self._suspend_program = suspend
        self._paste_image = paste_image
        self._status_changed = status_changed
        self._port: SessionPort | None = None
        self._acts: Mapping[str, Callable[[], bool]] = {
            "app.interrupt": self._interrupt,
            "app.suspend": self._suspend,
            "app.help": self._help,
            "app.history.search": self._search_history,
            "app.editor.external": self._edit,
            "app.clipboard.pasteImage": lambda: self._start(self._paste_image()),
            "app.model.cycleForward": lambda: self._start(self._cycle_model(1)),
            "app.model.cycleBackward": lambda: self._start(self._cycle_model(-1)),
            "app.thinking.cycle": lambda: self._start(self._cycle_thinking()),
            "app.thinking.toggle": self._toggle_thinking,
            "app.permissions.cycle": self._cycle_permissions,
            "app.tools.expand": self._expand,
            "app.screen.redraw": self._redraw,
            "app.message.copyPrompt": lambda: self._start(self._copy_prompt()),
            "app.message.followUp": self._follow_up,
            "app.message.dequeue": lambda: self._start(self._dequeue()),
        }

    def open(self, port: SessionPort) -> None:
        """Set the session, once it is open."""
        self._port = port

    def act(self, action: str) -> bool:
        """Run an action; returns whether it was handled."""
        if (command := _COMMANDS.get(action)) is not None:
            return self._prompt_sender.run_command(command)
        act = self._acts.get(action)
        return act() if act is not None else self._quit_keys.act(action)

    # Stopping -------------------------------------------------------------------------------------

    def _interrupt(self) -> bool:
        port = self._port
        if port is None or self._interrupt_run():
            return True
        if self._composer.text.startswith("!"):
            self._composer.take()  # Up restores it
            return True
        if port.info.runs_here:  # extensions may have work in the background
            self._start(port.abort())
        if not self._composer.text and self._escapes.is_second():
            self._handle_double_escape(port)
        return True

    def _interrupt_run(self) -> bool:
        """Stop the user's shell command, the retry or the run; returns whether there was one."""
        port = self._port
        if port is None:
            return False
        if self._prompt_sender.is_shell_running:
            port.shell.stop()
        elif self._activity.is_retrying:
            self._start(self._stop(partial(_give_up, port)))
        elif self._activity.is_busy:
            self._start(self._stop(port.abort))
        else:
            return False
        return True

    async def _stop(self, abort: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Stop the agent; queued messages return to the editor."""
        await self._prompt_sender.restore_queued()
        if self._composer.text:
            self._quit_keys.end_hint()
        await abort()

    def _handle_double_escape(self, port: SessionPort) -> None:
        command = port.settings.values.double_escape_action
        # ``rewind`` is a command of a bundled extension, the others are built in.
        if command != "none" and not self._prompt_sender.run_command(command):
            self._prompt_sender.submit(f"/{command}")

    def _suspend(self) -> bool:
        self._suspend_program()
        return True

    # Helping --------------------------------------------------------------------------------------

    def _help(self) -> bool:
        if self._port is None or self._composer.text:
            return False  # the character is typed
        return self._start(self._show_help())

    async def _show_help(self) -> None:
        from pi.modes.interactive.commands.application import help_sections  # deferred
        from pi.modes.interactive.dialogs.help import show_help

        if typed := await show_help(self._screen, help_sections(self._screen)):
            self._composer.prompt.handle_input(typed)  # as a key: / opens the menu

    def _search_history(self) -> bool:
        return self._port is not None and self._start(self._find_prompt(self._port))

    async def _find_prompt(self, port: SessionPort) -> None:
        from pi.modes.interactive.commands.session import session_catalog  # deferred
        from pi.modes.interactive.dialogs.history_search import search_history
        from pi.modes.interactive.dialogs.waiting import read_history

        if not await read_history(self._screen):
            return
        sent = [point.text for point in port.info.fork_points()]
        prompts = [*sent, *self._composer.usual.history]
        query = self._composer.text.strip()
        catalog = session_catalog(self._screen)
        prompt = await search_history(self._screen, prompts, catalog, query)
        if prompt is not None:
            self._composer.set_text(prompt)

    # Writing --------------------------------------------------------------------------------------

    def _edit(self) -> bool:
        return self._port is not None and self._start(self._edit_externally())

    async def _edit_externally(self) -> None:
        edited = await self._screen.open_external_editor(self._composer.text)
        if edited is not None:
            self._composer.set_text(edited)

    def _follow_up(self) -> bool:
        if not self._composer.text.strip():
            return False
        text, images = self._composer.take()
        self._screen.notify("")  # like Enter, it dismisses transient notices
        self._prompt_sender.follow_up(text, images)
        return True

    async def _dequeue(self) -> None:
        if not await self._prompt_sender.restore_queued():
            self._screen.notify("No queued messages.")

    # Choosing and showing -------------------------------------------------------------------------

    async def _cycle_model(self, step: int) -> None:
        if self._port is None:
            return
        choice = await self._port.models.cycle(step)
        if choice is None:
            self._screen.notify("Only one model is available.")
        else:
            self._screen.notify(f"Model: {choice.model.name or choice.model.id}")
        self._status_changed()

    async def _cycle_thinking(self) -> None:
        if self._port is None:
            return
        level = await self._port.models.cycle_thinking()
        if level is None:
            self._screen.notify("This model does not support thinking.")
        else:
            self._screen.notify(f"Thinking: {level}")
        self._status_changed()

    def _cycle_permissions(self) -> bool:
        # A command, because it also loads the extension that asks.
        self._prompt_sender.submit("/permissions next")
        return True

    def _toggle_thinking(self) -> bool:
        hidden = self._transcript.shows_thinking
        self._transcript.hide_thinking(hidden=hidden)
        self._screen.notify("Thinking is hidden." if hidden else "Thinking is shown.")
        if self._port is not None:
            with report_errors(self._screen):
                self._port.settings.set({"hideThinkingBlock": hidden})
        self._screen.refresh("Thinking hidden" if hidden else "Thinking shown")
        return True

    def _expand(self) -> bool:
        is_expanded = self._transcript.toggle_expanded()
        self._screen.refresh("Expanded" if is_expanded else "Folded")
        return True

    def _redraw(self) -> bool:
        self._screen.refresh()
        return True

    async def _copy_prompt(self) -> None:
        """Copy the text in the editor, or else the last prompt of the session."""
        from pi.modes.interactive.commands.sharing import copy_text

        if self._port is None:
            return
        if text := self._composer.text:
            await copy_text(self._screen, text, "the prompt")
        elif points := self._port.info.fork_points(1):
            await copy_text(self._screen, points[-1].text, "the last prompt")
        else:
            self._screen.notify("There is no prompt to copy yet.")

    def _start(self, work: Coroutine[Any, Any, None]) -> bool:
        self._screen.tasks.start(self._run(work), name="a key")
        return True

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        with report_errors(self._screen):
            await work
        self._screen.request_render()


async def _give_up(port: SessionPort) -> None:
    """Cancel the retry wait; the retry itself, if it has just started."""
    if not await port.retry.cancel():
        await port.abort()
