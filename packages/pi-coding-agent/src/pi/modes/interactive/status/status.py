"""The status region: updates the footer, the border and the window after session events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pi.agent.events import AgentEnd, AgentSettled, AgentStart, MessageEnd, MessageUpdate, TurnEnd
from pi.base.clock import Clock
from pi.base.folder_changes import watch_folder
from pi.base.tasks import TaskScope
from pi.coding.compaction.events import CompactionEnd
from pi.coding.extension_host.events.session import SessionInfoChanged, ThinkingLevelChanged
from pi.modes.interactive.status.activity import Activity
from pi.modes.interactive.status.footer import (
    Footer,
)
from pi.modes.interactive.status.footer_facts import footer_facts
from pi.modes.interactive.status.git_branch import branch_of, folder_of_head
from pi.modes.interactive.status.program_status import ProgramStatus
from pi.modes.interactive.status.window_title import LONG_RUN, WindowTitle
from pi.modes.interactive.theme import Theme

if TYPE_CHECKING:
    from pi.coding.port.session import SessionPort


# Git branch ---------------------------------------------------------------------------------------
#
# Read from git's own files. The program ``git`` is never started: a repository's configuration can
# name programs that git runs, and the repository may not be trusted.


# Terminal window ----------------------------------------------------------------------------------


_REFRESHING = (
    MessageEnd,
    TurnEnd,
    AgentSettled,
    CompactionEnd,
    SessionInfoChanged,
    ThinkingLevelChanged,
)
"""Events that change the numbers of the footer."""


class StatusRegion:
    """Owns the footer, the activity and the window title.

    ``show_label`` shows the activity.
    """

    def __init__(
        self,
        theme: Theme,
        activity: Activity,
        footer: Footer,
        window: WindowTitle,
        program: ProgramStatus,
        *,
        clock: Clock,
        tasks: TaskScope,
        home: Path,
        show_label: Callable[[str], None],
        request_render: Callable[[], None],
    ) -> None:
        self._theme = theme
        self._activity = activity
        self._footer = footer
        self._window = window
        self._program = program
        self._clock = clock
        self._tasks = tasks
        self._home = home
        self._show_label = show_label
        self._request_render = request_render
        self._port: SessionPort | None = None
        self._branch = ""
        self._watched: tuple[Path, Callable[[], None] | None] | None = None
        """The folder in which git replaces HEAD, and what ends its notifications."""
        self._is_ticking = False
        activity.on_work = self._show_activity

    def open(self, port: SessionPort) -> None:
        """Show a session that was opened, or that replaced another."""
        self._port = port
        self.refresh()
        self._tasks.start(self.look_for_branch(), name="looking for the branch")

    def handle_event(self, event: object) -> None:
        """Handle a session event."""
        ran = self._activity.run_seconds
        self._activity.handle_event(event)
        if type(event) is MessageUpdate:
            return  # one per token: its changes are shown with the next tick
        self._program.handle_event(event)
        if isinstance(event, AgentStart):
            self._window.watch()
        if isinstance(event, AgentEnd) and not event.will_retry and ran >= LONG_RUN:
            self._window.notify(f"pi is done in {self._cwd.name}")
        if isinstance(event, _REFRESHING):
            self.refresh()
        self._show_activity()

    def refresh(self) -> None:
        """Update the footer."""
        if self._port is not None:
            facts = footer_facts(self._port, home=self._home, branch=self._branch)
            self._footer.show(facts)
            self._window.set_title(self._cwd.name, facts.session_name)
            self._program.set_session(facts.session_name)
            self._request_render()

    async def look_for_branch(self) -> None:
        """Check whether the branch changed. A remote session has no folder on this disk."""
        is_here = self._port is not None and self._port.info.runs_here
        branch = await branch_of(self._cwd) if is_here else ""
        self._follow(await asyncio.to_thread(folder_of_head, self._cwd) if is_here else None)
        if branch is not None and branch != self._branch:
            self._branch = branch
            self.refresh()

    @property
    def is_following(self) -> bool:
        """Whether the system notifies about changes of the branch; true if there is none."""
        return self._watched is None or self._watched[1] is not None

    def _follow(self, folder: Path | None) -> None:
        if self._watched is not None and self._watched[0] == folder:
            return
        if self._watched is not None and self._watched[1] is not None:
            self._watched[1]()
        self._watched = None if folder is None else (folder, watch_folder(folder, self._notice))

    def _notice(self) -> None:
        self._tasks.start(self.look_for_branch(), name="looking for the branch")

    def _show_activity(self) -> None:
        """Update the border and the task bar; repeats while work is in progress."""
        label = self._activity.label()
        spinner, _, text = label.partition(" ")
        accent, muted = self._theme.paint("accent"), self._theme.paint("muted")
        painted = f"{accent(spinner)} {muted(text)}" if spinner else muted(text)
        self._show_label(painted if label else "")
        if self._wants_progress:
            self._window.set_progress(is_busy=self._activity.is_busy)
        if self._activity.is_busy and not self._is_ticking:
            self._is_ticking = True
            self._tasks.start(self._tick(), name="the spinner")

    async def _tick(self) -> None:
        while self._activity.is_busy:
            await self._clock.sleep(self._activity.indicator.interval)
            self._show_activity()
        self._is_ticking = False

    @property
    def _wants_progress(self) -> bool:
        port = self._port
        return port is not None and port.settings.values.terminal.show_terminal_progress

    @property
    def _cwd(self) -> Path:
        return self._port.info.cwd if self._port is not None else Path()
