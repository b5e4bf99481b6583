"""The application: creates the layout, opens the session in the background, and shuts down."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from typing import TYPE_CHECKING

from pi.base.tasks import TaskScope
from pi.modes.interactive.layout import AppLayout
from pi.modes.interactive.quit_keys import QuitKeys
from pi.modes.interactive.startup import AppOptions, StartRefused
from pi.tui.input.decoder import PASTE_START
from pi.tui.input.keys import is_key_release, printable_text
from pi.tui.terminal import Terminal

if TYPE_CHECKING:  # imported after the first frame
    from pi.ai.messages import Image
    from pi.modes.interactive.drafts import Drafts
    from pi.modes.interactive.session_lifecycle import SessionLifecycle

log = logging.getLogger(__name__)

DRAFT_SECONDS = 0.5
"""Maximum delay between a change of the draft and its file."""

SEEN_SECONDS = 1.5
"""Seconds after which the user has seen a restored draft."""


async def run(start: AppOptions) -> str:
    """Run the application on the terminal of the process; returns the text to print at the end."""
    from pi.tui.terminals import own_terminal  # tests pass their own terminal

    terminal = own_terminal(start.environ, platform=sys.platform)
    return await App(start, terminal).run()


class App:
    """One run of the application on one terminal."""

    def __init__(self, start: AppOptions, terminal: Terminal, *, strict: bool = False) -> None:
        self._start = start
        self._tasks = TaskScope(report=self._failed)
        self._ended = asyncio.Event()
        self._has_quit = False
        """Whether the user quit: the draft is then discarded."""
        self._frame = AppLayout(
            start, terminal, tasks=self._tasks, on_disconnect=self._ended.set, strict=strict
        )
        self._quit_keys = QuitKeys(self._frame, self._tasks, clock=start.clock, quit=self.quit)
        self._view: SessionLifecycle | None = None
        self._early: list[str] = []
        """Prompts sent before the session was open."""
        self._drafts: Drafts | None = None
        self._draft_is_due = False
        self._problem: Exception | None = None
        """Why the session could not be opened."""

    async def run(self) -> str:
        """Run until the user quits; returns the text to print.

        Raises the error if the session cannot be opened; typed text is kept as a draft.
        """
        composer = self._frame.composer
        composer.on_submit = self._submit_early
        composer.on_action(self._quit_keys.act)
        composer.on_change = self._draft_changed
        self._frame.tui.start()
        try:
            self._tasks.start(self._open(), name="opening the session")
            await self._ended.wait()
        finally:
            self._frame.slot.clear()  # rows covered by a dialog belong in the terminal's history
            self._frame.tui.stop()
            if self._drafts is not None:
                self._drafts.save(composer.unsent)
                self._drafts.close(keep=not self._has_quit)
            try:
                hint = await self._view.close() if self._view else ""
            finally:
                await self._tasks.close()
        if self._problem is not None:
            raise self._problem
        return hint

    @property
    def has_ended(self) -> bool:
        """Whether the user quit or the terminal is gone."""
        return self._ended.is_set()

    def quit(self) -> None:
        """Quit at the user's request."""
        if not self._ended.is_set():
            self._has_quit = True
            self._ended.set()

    async def _open(self) -> None:
        """Open the session, or end the application if that fails."""
        try:
            await self._load()
        except Exception as error:
            is_open = self._view is not None and self._view.has_session
            if is_open and not isinstance(error, StartRefused):
                raise
            self._problem = error
            self._ended.set()

    async def _load(self) -> None:
        """Load everything else while the screen is already usable."""
        await asyncio.sleep(0)  # the first frame is painted before anything is loaded
        # Imports take a few frames; in a thread, keys are handled between two modules.
        await asyncio.to_thread(self._start.load)
        from pi.modes.interactive.drafts import Drafts
        from pi.modes.interactive.session_lifecycle import SessionLifecycle

        self._view = SessionLifecycle(
            self._start, self._frame, self._tasks, self._quit_keys, quit=self.quit
        )
        self._drafts = Drafts(self._start.agent_dir, self._start.cwd, name=os.urandom(4).hex())
        if text := self._drafts.recover():
            self._restore(self._view, text)
        early, self._early = self._early, []
        await self._view.open(early)

    def _restore(self, view: SessionLifecycle, draft: str) -> None:
        """Put a draft into the editor; into the history, if the user is writing something else.

        Text typed before the session is open, or within ``SEEN_SECONDS``, was begun before the user
        saw the draft: it replaces the draft, which moves into the history.
        """
        composer = self._frame.composer
        up = "Restored the draft of a session that ended unexpectedly: Up shows it."
        if composer.text or self._early:
            composer.remember(draft)
            view.screen.notify(up)
            return
        composer.set_text(draft)
        view.screen.notify("Restored the draft of a session that ended unexpectedly.")

        clock, restored_at = self._start.clock, self._start.clock.monotonic()

        def first_key(data: str) -> None:
            if is_key_release(data):
                return
            stop_listening()
            is_text = printable_text(data) or data.startswith(PASTE_START)
            is_unseen = not view.has_session or clock.monotonic() - restored_at < SEEN_SECONDS
            if is_text and is_unseen and composer.text == draft:
                composer.take()  # into the history
                view.screen.notify(up)

        stop_listening = self._frame.tui.add_input_listener(first_key)

    def _submit_early(self, text: str, images: tuple[Image, ...]) -> None:
        self._early.append(text)
        self._frame.composer.show_queued(("Waiting", tuple(self._early)))

    def _draft_changed(self) -> None:
        if not self._draft_is_due:
            self._draft_is_due = True
            self._tasks.start(self._save_draft(), name="saving the draft")

    async def _save_draft(self) -> None:
        await self._start.clock.sleep(DRAFT_SECONDS)
        self._draft_is_due = False
        if self._drafts is not None:
            await asyncio.to_thread(self._drafts.save, self._frame.composer.unsent)

    def _failed(self, name: str, error: BaseException) -> None:
        """Show an unexpected error on the screen and log it with its traceback."""
        log.error("%s failed", name, exc_info=error, extra={"is_reported": True})
        if self._view is not None:
            self._view.show_failure(name, error)
        else:
            self._notify(f"{name}: {error!r}", "error")

    def _notify(self, text: str, token: str = "muted") -> None:
        """Show a transient notice."""
        self._frame.passing.show(text, token)
        self._frame.tui.request_render()
