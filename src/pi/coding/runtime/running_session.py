"""A session that runs, put together from parts that do not know each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from pi.agent.listeners import Listener
from pi.coding.runtime.compaction import Compacting
from pi.coding.runtime.core import Core
from pi.coding.runtime.events import SessionEnding, SessionStarted
from pi.coding.runtime.extensions import Extensions
from pi.coding.runtime.info import SessionFacts
from pi.coding.runtime.model_selection import ModelSelection
from pi.coding.runtime.prompting import Prompting
from pi.coding.runtime.retrying import Retrying
from pi.coding.runtime.user_shell import UserShell
from pi.coding.runtime.watching import EventFeed
from pi.coding.settings.settings import Settings

if TYPE_CHECKING:  # most sessions need none of these
    from pi.coding.runtime.accounts import Accounts
    from pi.coding.runtime.exporting import Exports
    from pi.coding.runtime.replacing import Replacing
    from pi.coding.runtime.tree_moves import TreeMoves


class RunningSession:
    """Implements ``SessionPort``: its parts do the work. Its owner closes it.

    ``sessions``, ``tree`` and ``accounts`` make parts that most sessions never need.
    """

    def __init__(
        self,
        core: Core,
        *,
        prompts: Prompting,
        models: ModelSelection,
        sessions: Callable[[], Replacing],
        tree: Callable[[], TreeMoves],
        shell: UserShell,
        facts: SessionFacts,
        accounts: Callable[[], Accounts],
        compaction: Compacting,
        extensions: Extensions,
        retry: Retrying,
        close: Callable[[], Any],
    ) -> None:
        self.prompts = prompts
        self.models = models
        self._make_sessions = sessions
        self._make_tree = tree
        self.shell = shell
        self.facts = facts
        self._make_accounts = accounts
        self.compaction = compaction
        self.retry = retry
        self.extensions = extensions
        self._core = core
        self._close = close
        self._closed = False
        self._feeds: WeakSet[EventFeed] = WeakSet()

    @cached_property
    def sessions(self) -> Replacing:
        """Other sessions, in the place of this one."""
        return self._make_sessions()

    @cached_property
    def tree(self) -> TreeMoves:
        """Moves to other places of the session."""
        return self._make_tree()

    @cached_property
    def accounts(self) -> Accounts:
        """The credentials of the person."""
        return self._make_accounts()

    @cached_property
    def exports(self) -> Exports:
        """The session for others, without the secrets that the accounts hold."""
        from pi.coding.runtime.exporting import Exports

        return Exports(self._core, lambda: self.accounts.secrets())

    @property
    def cwd(self) -> Path:
        """The directory that the session works in."""
        return self._core.workspace.cwd

    @property
    def settings(self) -> Settings:
        """The settings that hold for the session."""
        return self._core.workspace.settings

    def since_session_ms(self) -> int:
        """How long this session has been going on; starts anew with every new one."""
        return self._core.since_session_ms()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have ``listener`` called with every public event, in order; gives what ends that."""
        return self._core.agent.subscribe(listener)

    def events(self) -> EventFeed:
        """Iterate over everything that happens from now on, until the session is closed."""
        feed = EventFeed(self.subscribe)
        self._feeds.add(feed)
        if self._closed:
            feed.end()
        return feed

    async def abort(self) -> None:
        """End whatever is under way, and wait until it has ended."""
        if self._core.elsewhere is not None:
            await self._core.elsewhere.abort()
        await self.stop()

    async def stop(self) -> None:
        """End what is under way here, whoever runs the session."""
        self.prompts.gate.give_up()
        self._core.agent.abort()
        self.compaction.abort()
        if "tree" in vars(self):  # made already: there may be something to stop
            self.tree.abort()
        await self._core.agent.wait_for_idle()

    async def wait_for_idle(self) -> None:
        """Until nothing is under way."""
        await self._core.agent.wait_for_idle()

    async def start(self) -> None:
        """Tell everybody that the session is there."""
        await self._core.bus.tell(SessionStarted(reason="startup"))

    async def close(self) -> None:
        """End what is under way, store what there is, and let everything go."""
        if self._closed:
            return
        self._closed = True
        self.shell.stop()
        await self.stop()
        self.shell.flush()
        await self._core.bus.tell(SessionEnding(reason="quit"))
        self._core.log.close()
        await self._core.workspace.close()
        await self._close()
        for feed in self._feeds:
            feed.end()
