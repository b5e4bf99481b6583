"""The status as a whole: hears what happens and tells it in the footer, the border, the window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pi.agent.events import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    MessageEnd,
    MessageUpdate,
    TurnEnd,
)
from pi.base.clock import Clock
from pi.base.tasks import TaskScope
from pi.coding.compaction.events import CompactionEnd
from pi.coding.runtime.events import SessionInfoChanged, ThinkingLevelChanged
from pi.modes.interactive.status.activity import Activity
from pi.modes.interactive.status.branch import branch_of
from pi.modes.interactive.status.footer import Footer
from pi.modes.interactive.status.reporting import footer_facts
from pi.modes.interactive.status.window import LONG_RUN, Window
from pi.modes.interactive.theme import Theme

if TYPE_CHECKING:
    from pi.coding.runtime.port import SessionPort

_REFRESHING = (
    MessageEnd,
    TurnEnd,
    AgentSettled,
    CompactionEnd,
    SessionInfoChanged,
    ThinkingLevelChanged,
)
"""After these the numbers of the footer are others."""


class Status:
    """Owns the footer, the activity and the window's title.

    ``show_label`` puts what goes on where the user sees it.
    """

    def __init__(
        self,
        theme: Theme,
        activity: Activity,
        footer: Footer,
        window: Window,
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
        self._clock = clock
        self._tasks = tasks
        self._home = home
        self._show_label = show_label
        self._request_render = request_render
        self._port: SessionPort | None = None
        self._branch = ""
        self._is_ticking = False
        activity.on_work = self._show_activity

    def open(self, port: SessionPort) -> None:
        """The session is there, or is another one now."""
        self._port = port
        self.refresh()
        self._tasks.start(self.look_for_branch(), name="looking for the branch")

    def hear(self, event: object) -> None:
        """Take note of something that the session tells."""
        ran = self._activity.run_seconds
        self._activity.hear(event)
        if type(event) is MessageUpdate:
            return  # one for every token: what it changes is seen with the next tick
        if isinstance(event, AgentStart):
            self._window.watch()
        if isinstance(event, AgentEnd) and not event.will_retry and ran >= LONG_RUN:
            self._window.notify(f"pi is done in {self._cwd.name}")
        if isinstance(event, _REFRESHING):
            self.refresh()
        self._show_activity()

    def refresh(self) -> None:
        """Tell the facts as they are now."""
        if self._port is not None:
            facts = footer_facts(self._port, home=self._home, branch=self._branch)
            self._footer.show(facts)
            self._window.set_title(self._cwd.name, facts.session_name)
            self._request_render()

    async def look_for_branch(self) -> None:
        """See whether somebody has changed the branch."""
        branch = await branch_of(self._cwd)
        if branch is not None and branch != self._branch:
            self._branch = branch
            self.refresh()

    def _show_activity(self) -> None:
        """What goes on, in the border and in the task bar; it moves as long as it goes on."""
        label = self._activity.label()
        spinner, _, words = label.partition(" ")
        accent, muted = self._theme.paint("accent"), self._theme.paint("muted")
        shown = f"{accent(spinner)} {muted(words)}" if spinner else muted(words)
        self._show_label(shown if label else "")
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
        return self._port.facts.cwd if self._port is not None else Path()
