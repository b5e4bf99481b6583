"""The application: puts the regions together, opens the session behind them, and ends it all."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from typing import TYPE_CHECKING

from pi.base.tasks import TaskScope
from pi.modes.interactive.layout import AppLayout, QuitKeys
from pi.modes.interactive.startup import AppOptions
from pi.tui.terminal import Terminal

if TYPE_CHECKING:  # loaded behind the first frame
    from pi.ai.messages import Image
    from pi.modes.interactive.session_lifecycle import Drafts, SessionLifecycle

log = logging.getLogger(__name__)

DRAFT_SECONDS = 0.5
"""How long a draft may be newer than its file."""


async def run(start: AppOptions) -> str:
    """Run the application on the terminal of the process; gives what to tell when it is over."""
    from pi.tui.terminals.posix import own_terminal  # tests bring their own terminal

    terminal = own_terminal(start.environ, platform=sys.platform)
    return await App(start, terminal).run()


class App:
    """One run of the application on one terminal."""

    def __init__(self, start: AppOptions, terminal: Terminal, *, strict: bool = False) -> None:
        self._start = start
        self._tasks = TaskScope(report=self._failed)
        self._ended = asyncio.Event()
        self._has_quit = False
        """Whether it ends because the person wants it to: what they wrote is then given up."""
        self._frame = AppLayout(
            start, terminal, tasks=self._tasks, on_disconnect=self._ended.set, strict=strict
        )
        self._leaving = QuitKeys(
            self._frame.composer,
            self._frame.keymap,
            clock=start.clock,
            tell=self._tell,
            quit=self.quit,
        )
        self._view: SessionLifecycle | None = None
        self._early: list[str] = []
        """What was sent before there was anything to send it to."""
        self._drafts: Drafts | None = None
        self._draft_is_due = False
        self._problem: Exception | None = None
        """Why there is no session."""

    async def run(self) -> str:
        """Until the person leaves; gives what to tell them then.

        Raises why there is no session; what was typed meanwhile is kept as a draft.
        """
        composer = self._frame.composer
        composer.on_submit = self._submit_early
        composer.on_action(self._leaving.act)
        composer.on_change = self._draft_changed
        self._frame.tui.start()
        try:
            self._tasks.start(self._open(), name="opening the session")
            await self._ended.wait()
        finally:
            self._frame.slot.clear()  # what a dialog hides belongs into the terminal's history
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
        """Whether the person has left, or the terminal is gone."""
        return self._ended.is_set()

    def quit(self) -> None:
        """End the application, as the person wants it."""
        if not self._ended.is_set():
            self._has_quit = True
            self._ended.set()

    async def _open(self) -> None:
        """Open the session, or end: without one there is nothing to do here."""
        try:
            await self._load()
        except Exception as problem:
            if self._view is not None and self._view.has_session:
                raise
            self._problem = problem
            self._ended.set()

    async def _load(self) -> None:
        """Load everything else, behind a screen that can be used already."""
        await asyncio.sleep(0)  # the first frame is on the terminal before anything is loaded
        # Importing takes as long as a few frames; in a thread, keys are seen between two modules.
        await asyncio.to_thread(self._start.load)
        from pi.modes.interactive.session_lifecycle import Drafts, SessionLifecycle

        self._view = SessionLifecycle(
            self._start, self._frame, self._tasks, self._leaving, quit=self.quit
        )
        self._drafts = Drafts(self._start.agent_dir, self._start.cwd, name=os.urandom(4).hex())
        if not self._frame.composer.text and (text := self._drafts.left_behind()):
            self._frame.composer.set_text(text)
            self._view.screen.notify("The draft of a session that ended early is back.")
        early, self._early = self._early, []
        await self._view.open(early)

    def _submit_early(self, text: str, images: tuple[Image, ...]) -> None:
        self._early.append(text)
        self._frame.composer.show_queued(("Waiting", tuple(self._early)))

    def _draft_changed(self, text: str) -> None:
        if not self._draft_is_due:
            self._draft_is_due = True
            self._tasks.start(self._save_draft(), name="saving the draft")

    async def _save_draft(self) -> None:
        await self._start.clock.sleep(DRAFT_SECONDS)
        self._draft_is_due = False
        if self._drafts is not None:
            await asyncio.to_thread(self._drafts.save, self._frame.composer.unsent)

    def _failed(self, name: str, problem: BaseException) -> None:
        """Something unexpected: told on the screen, and in full in the log."""
        log.error("%s failed", name, exc_info=problem, extra={"is_told": True})
        if self._view is not None:
            self._view.tell_failure(name, problem)
        else:
            self._tell(f"{name}: {problem!r}", "error")

    def _tell(self, text: str, token: str = "muted") -> None:
        """Say something in passing."""
        self._frame.passing.show(text, token)
        self._frame.tui.request_render()
