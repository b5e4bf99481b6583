"""Opens, starts and closes the session behind the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from pi.ai.messages import Image
from pi.base.tasks import TaskScope
from pi.coding.export.redaction import Redactor
from pi.coding.trust import TrustChoice
from pi.modes.interactive.composer.completion import suggestions
from pi.modes.interactive.extensions.stalls import stall_handler
from pi.modes.interactive.layout import AppLayout
from pi.modes.interactive.quit_keys import QuitKeys
from pi.modes.interactive.session_controller import SessionController
from pi.modes.interactive.startup import AppOptions, OpenContext, OpenedSession
from pi.modes.interactive.transcript.block import Block
from pi.modes.interactive.transcript.notices import LinesBlock, NoticeBlock
from pi.modes.interactive.type_ahead import type_ahead_to_composer
from pi.modes.interactive.ui import Commands, report_errors
from pi.modes.log_file import more_in_log, start_log

# Session ------------------------------------------------------------------------------------------

_WARNING = "Warning: "
"""Prefix of reported warnings; not shown, because warnings have their own colour."""
POLL_SECONDS = 4.0
"""Interval for checking the branch and the theme file."""
UNWATCHED_SECONDS = 0.8
"""The same interval if the system does not notify about changes of the branch."""


class SessionLifecycle:
    """Owns the session, once it is open, and its controller."""

    def __init__(
        self,
        start: AppOptions,
        frame: AppLayout,
        tasks: TaskScope,
        quit_keys: QuitKeys,
        *,
        quit: Callable[[], None],
    ) -> None:
        self._start = start
        self._frame = frame
        self._tasks = tasks
        self._opened: OpenedSession | None = None
        self._end_log: Callable[[], None] = lambda: None
        self._secrets: tuple[str, ...] = ()
        self._redactor = Redactor()
        self._regions = SessionController(start, frame, tasks, quit_keys, cwd=self._cwd, quit=quit)
        self.screen = self._regions.screen
        """The ``Ui`` of dialogs."""

    @property
    def has_session(self) -> bool:
        """Whether the session is open."""
        return self._opened is not None

    async def open(self, early: list[str]) -> None:
        """Open the session, show it, and send queued prompts.

        Raises the error if the session cannot be opened.
        """
        loop = asyncio.get_running_loop()
        self._end_log = start_log(
            self._start.agent_dir,
            self._start.environ,
            redact=self._redact,
            on_error=lambda text: loop.call_soon_threadsafe(self._show_logged, text),
        )
        for warning in self._frame.problems:
            self.screen.notify(warning, "warning")
        prompt_sender = self._regions.prompt_sender
        for text in early:
            prompt_sender.submit(text)
        opening = OpenContext(
            ask_trust=self._ask_trust,
            report=self._report,
            ui=self.screen,
            extension_ui=self._regions.extensions.ui,
            on_stall=stall_handler(self._frame.tui, self._frame.theme),
        )
        try:
            opened = self._opened = await self._start.open(opening)
        except Exception:
            await prompt_sender.restore_queued()  # they are kept with the draft
            raise
        self._show_startup_lines(opened)
        self._regions.open(opened)
        self._tasks.start(self._watch(), name="watching files")
        await asyncio.to_thread(self._start.load_rest)  # the footer is painted meanwhile
        await self._begin(opened)

    async def close(self) -> str:
        """Close the session; returns the lines to print at exit."""
        self._end_log()
        if self._opened is None:
            return ""
        await self._opened.port.close()
        return self._opened.leave()

    def show_failure(self, name: str, error: BaseException) -> None:
        """Show an unexpected error; the log has the traceback."""
        self.screen.notify(f"{name} failed: {error!r}. {self._more}", "error")

    def _show_logged(self, text: str) -> None:
        """Show a logged error that was not reported before."""
        self.screen.notify(f"{text[:1].upper()}{text[1:].rstrip('.')}. {self._more}", "error")

    @property
    def _more(self) -> str:
        return more_in_log(self._start.agent_dir)

    # Opening --------------------------------------------------------------------------------------

    async def _ask_trust(self, folder: Path, gated: Sequence[Path]) -> TrustChoice | None:
        with type_ahead_to_composer(self._frame.tui, self._frame.keymap, self._frame.composer):
            return await self._start.ask_trust(self.screen, folder, gated)

    def _report(self, text: str) -> None:
        message = text.removeprefix(_WARNING)
        is_warning = message != text or text == self._why_unsaved
        self.screen.notify(message, "warning" if is_warning else "info")

    @property
    def _why_unsaved(self) -> str | None:
        return self._opened.port.entries.log.problem if self._opened else None

    def _show_startup_lines(self, opened: OpenedSession) -> None:
        values = opened.port.settings.values
        if opened.lines and (self._start.verbose or values.quiet_startup is not True):
            self._frame.header.add_child(self._introduction(opened.lines))
        if opened.note:
            self.screen.notify(opened.note.removeprefix(_WARNING), "warning")

    def _introduction(self, lines: Sequence[str]) -> Block:
        """Return the block of the start-up lines; a notice with ``--verbose``, else dim lines."""
        look = self._regions.transcript.look
        if self._start.verbose:
            return NoticeBlock(look, "\n".join(lines))
        return LinesBlock(look, lines)

    # Beginning ------------------------------------------------------------------------------------

    async def _begin(self, opened: OpenedSession) -> None:
        """Start the session: emit the start event, then send queued prompts."""
        commands, regions = self._start.commands(self.screen), self._regions
        completing = regions.extensions.ui.completing
        completing.complete_with(suggestions(opened.port, opened.host, commands, self._cwd))
        self._frame.composer.offer(completing.provider)  # completes what was typed so far
        await opened.begin()
        regions.follower.begun()
        regions.extensions.report_conflicts()
        await asyncio.to_thread(self._frame.last_footers.store, self._frame.footer.facts)
        self._tasks.start(self._show_news(opened), name="looking for news")
        self._tasks.start(opened.refresh(), name="updating models")
        with report_errors(self.screen):
            await opened.welcome(self.screen)
        regions.choices_changed()
        is_chosen = not opened.command or await self._choose_session(opened, commands)
        regions.prompt_sender.open(opened.port, commands)
        for number, (text, images) in enumerate(opened.messages):
            if not is_chosen:
                self._write_back(text, images)
            elif number == 0:
                regions.prompt_sender.submit(text, images)
            else:
                # A prompt of its own, as with -p: steering would put it into the first request.
                regions.prompt_sender.follow_up(text, images)

    async def _choose_session(self, opened: OpenedSession, commands: Commands) -> bool:
        """Run the command that picks a session; returns whether another one is open now.

        Prompts wait until it ends: they would go to the session that is left.
        """
        before = opened.port.entries.log.header.id
        if (work := commands.find(opened.command, "")) is None:
            return False
        with report_errors(self.screen):
            await work
        with report_errors(self.screen):
            await opened.picked()
        self._regions.choices_changed()
        return opened.port.entries.log.header.id != before

    def _write_back(self, text: str, images: Sequence[Image]) -> None:
        """Put a message into the editor; the user decides whether to send it."""
        composer = self._frame.composer
        composer.set_text("\n\n".join(part for part in (composer.text, text) if part.strip()))
        for image in images:
            composer.attach(image)

    async def _show_news(self, opened: OpenedSession) -> None:
        if news := await opened.news():
            self.screen.notify(news)

    # Watched files --------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Check regularly whether the branch or the theme file changed."""
        while True:
            is_notified = self._regions.status.is_following
            await self._start.clock.sleep(POLL_SECONDS if is_notified else UNWATCHED_SECONDS)
            await self._regions.status.look_for_branch()
            self._frame.themes.reload_if_changed()

    def _redact(self, text: str) -> str:
        """Redact ``text`` for the log."""
        if self._opened is None:
            return text
        port = self._opened.port
        secrets = port.accounts.secrets()
        if secrets != self._secrets:
            self._secrets, self._redactor = secrets, Redactor(secrets)
        return port.extensions.redacted(self._redactor.text(text), "log")

    def _cwd(self) -> Path:
        if self._opened is None:
            return self._start.cwd
        return self._opened.port.info.cwd


#
# Unsent text is in a file until it is sent. Every process has its own file, locked while it runs;
# an unlocked file was left by a process that ended unexpectedly.
