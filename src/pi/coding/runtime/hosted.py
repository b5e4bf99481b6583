"""The session facade for extensions, composed of small parts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from pi.agent.agent import StreamFn
from pi.coding.port.results import SubSession
from pi.coding.runtime.hosted_control import HostedControl
from pi.coding.runtime.hosted_parts import (
    HostedFacts,
    HostedModels,
    HostedPlace,
    HostedTalk,
    HostedTools,
)
from pi.coding.runtime.hosted_runs import HostedEvents, HostedRuns
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.session.agent_session import AgentSession
from pi.coding.runtime.session.runs import IdleQueue


class Hosted:
    """Implements ``HostedSession``."""

    def __init__(
        self,
        core: LiveSession,
        session: AgentSession,
        *,
        stream: StreamFn,
        when_idle: IdleQueue,
        reload: Callable[[], Awaitable[None]],
        open_nested: Callable[[SubSession], Awaitable[AgentSession]],
        refresh_policies: Callable[[], None],
    ) -> None:
        self.place = HostedPlace(core, session)
        self.talk = HostedTalk(core, session)
        self.runs = HostedRuns(core, session, refresh_policies)
        self.models = HostedModels(core, session, stream)
        self.tools = HostedTools(core)
        self.facts = HostedFacts(core, session)
        self.events = HostedEvents(core)
        self.control = HostedControl(
            core, session, when_idle=when_idle, reload=reload, open_nested=open_nested
        )

    @property
    def shutdown_requested(self) -> asyncio.Event:
        """Set when an extension requests shutdown."""
        return self.control.shutdown_requested

    async def settled(self) -> None:
        """Wait until the runs that extensions started are over."""
        await self.runs.settled()

    async def reload(self) -> None:
        """Reload settings, resources and extensions."""
        await self.control.reload()

    async def close(self) -> None:
        """Stop what extensions have started."""
        await self.runs.close()
        await self.events.close()
        await self.place.close()
