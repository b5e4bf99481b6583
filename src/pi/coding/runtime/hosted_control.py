"""Session switching for extensions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal, Unpack

from pi.ai.messages import Json
from pi.base.tasks import maybe_await
from pi.coding.extension_host.control import Cancelled, Setup, TreeOptions
from pi.coding.port.remote import Remote, Replica
from pi.coding.port.results import SubSession
from pi.coding.port.session import NestedSession
from pi.coding.runtime.live import LiveSession, RemoteSession
from pi.coding.runtime.session.agent_session import AgentSession
from pi.coding.runtime.session.replica import ReplicaFollower
from pi.coding.runtime.session.runs import IdleQueue


class HostedControl:
    """Implements ``SessionControl``. Refuses to replace the session during a run."""

    def __init__(
        self,
        core: LiveSession,
        session: AgentSession,
        *,
        when_idle: IdleQueue,
        reload: Callable[[], Awaitable[None]],
        open_nested: Callable[[SubSession], Awaitable[AgentSession]],
    ) -> None:
        self._core = core
        self._session = session
        self._when_idle = when_idle
        self._reload = reload
        self._open_nested = open_nested
        self.shutdown_requested = asyncio.Event()
        """Set when an extension requests shutdown."""

    async def wait_for_idle(self) -> None:
        """Wait until nothing is running."""
        await self._core.agent.wait_for_idle()

    async def new_session(
        self, *, parent_session: str | None = None, setup: Setup | None = None
    ) -> Cancelled:
        """Begin a new session; ``setup`` is given it before anything is said there."""
        self._core.agent.require_idle()
        done = await self._session.sessions.new(parent_session)
        if setup is not None and not done.cancelled:
            await maybe_await(setup(self._core.log))
        return Cancelled(cancelled=done.cancelled)

    async def fork(self, entry_id: str, *, position: Literal["before", "at"] = "before") -> Any:
        """Go on in a copy of what led to an entry."""
        self._core.agent.require_idle()
        if position == "before":
            return await self._session.sessions.fork(entry_id)
        return await self._session.sessions.fork_at(entry_id)

    async def switch_session(self, path: Path | str) -> Cancelled:
        """Go on with the session of a file."""
        self._core.agent.require_idle()
        done = await self._session.sessions.switch(Path(path))
        return Cancelled(cancelled=done.cancelled)

    async def navigate_tree(self, entry_id: str, **how: Unpack[TreeOptions]) -> Any:
        """Go on after another entry of this session."""
        self._core.agent.require_idle()
        return await self._session.tree.go_to(
            entry_id,
            summarize=how.get("summarize", False),
            instructions=how.get("custom_instructions", ""),
            replace_instructions=how.get("replace_instructions", False),
            label=how.get("label", ""),
        )

    async def reload(self) -> None:
        """Read settings, resources and extensions again."""
        self._core.agent.require_idle()
        await self._reload()

    def when_idle(
        self, act: Callable[[], Awaitable[None]], *, before_next_prompt: bool = True
    ) -> None:
        """Run ``act`` when the agent is idle next."""
        self._when_idle.add(act, before_next_prompt=before_next_prompt)

    def shutdown(self) -> None:
        """Request shutdown of the program."""

        async def end() -> None:
            self.shutdown_requested.set()

        self.when_idle(end)

    async def open_replica(self, header: Json, remote: Remote) -> Replica | None:
        """Show a session that runs elsewhere; ``None`` if an extension wants to stay here."""
        self._core.agent.require_idle()
        session = RemoteSession(remote)
        if not await self._session.sessions.show(header, session):
            return None
        return ReplicaFollower(self._core, session)

    async def open_nested(self, spec: SubSession) -> NestedSession:
        """Open a nested session."""
        return await self._open_nested(spec)
