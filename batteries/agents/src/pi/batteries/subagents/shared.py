"""The sub-agents of the host of a shared session, as the screen of ``/agents`` shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pi.batteries.subagents.nodes import SIGNS
from pi.extension import Json, PiError, Scope, ToolFailed

SERVICE = "shared_agents"
"""``pi.service`` of a guest: ``can_write``, ``agents()``, ``command()`` and ``transcript()``."""
FETCH_SECONDS = 1.0
"""Minimum time between two requests for the transcript that is shown."""


class SharedAgent:
    """An agent that runs at the host."""

    def __init__(self, row: Json, parent: SharedAgent | None) -> None:
        state = str(row.get("status", ""))
        self.id = str(row.get("id", ""))
        self.state = state if state in SIGNS else "running"
        self.title = str(row.get("task", ""))
        self.activity = str(row.get("activity", ""))
        self.agent = str(row.get("agent", ""))
        self.model = str(row.get("model", ""))
        self.reason = str(row.get("reason", ""))
        self.requests = _number(row.get("requests"))
        self.notes: tuple[str, ...] = ()
        self.parent = parent
        self._total = int(_number(row.get("tokens"))), float(_number(row.get("cost")))

    @property
    def is_active(self) -> bool:
        """Whether it works, or waits for a free slot."""
        return self.state in ("queued", "running", "merging")

    def total(self) -> tuple[int, float]:
        """Tokens and cost."""
        return self._total


def _number(value: object) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else 0


class SharedAgents:
    """The agents of the host, in the form that ``AgentsScreen`` uses."""

    def __init__(self, service: Any, scope: Scope) -> None:
        self._service = service
        self._scope = scope
        self._texts: dict[str, str] = {}
        self._fetched: dict[str, float] = {}
        self.is_read_only = not service.can_write
        """Whether the link of the guest allows to watch the table only."""
        self.tree = self
        self.catalog = self

    def all(self) -> Sequence[SharedAgent]:
        """All agents, parents before children."""
        agents: dict[str, SharedAgent] = {}
        for row in self._service.agents():
            if isinstance(row, dict):
                agent = SharedAgent(row, agents.get(str(row.get("parent", ""))))
                agents[agent.id] = agent
        return [*agents.values()]

    def active(self) -> Sequence[SharedAgent]:
        """The agents that work."""
        return [agent for agent in self.all() if agent.is_active]

    def usable(self) -> Mapping[str, Any]:
        """The definitions: those of the host are not sent."""
        return {}

    def can_continue(self, agent: SharedAgent) -> bool:
        """Whether an ended agent takes messages, which only the host knows."""
        return False

    async def cancel(self, agents: Sequence[SharedAgent]) -> int:
        """Stop agents at the host. Returns how many. Raises ``PiError``."""
        for agent in agents:
            await self._service.command(agent.id, "kill", "")
        return len(agents)

    async def send(self, agent: SharedAgent, text: str) -> bool:
        """Send a message to an agent. Raises ``PiError``."""
        await self._service.command(agent.id, "chat", text)
        return False

    def text(self, agent: SharedAgent) -> str:
        """The transcript as far as it was fetched; what is new is requested."""
        now = self._scope.clock.monotonic()
        fetched = self._fetched.get(agent.id)
        if fetched is None or now - fetched >= FETCH_SECONDS:
            self._fetched[agent.id] = now
            self._scope.spawn(self._fetch(agent.id), name=f"transcript of {agent.id}")
        if agent.id not in self._texts:
            raise ToolFailed("Fetching the transcript from the host…")
        return self._texts[agent.id]

    async def whole_text(self, id: str) -> str:
        """The whole transcript. Raises ``PiError``."""
        parts: list[str] = []
        offset: int | None = 0
        while offset is not None:
            part, offset = await self._service.transcript(id, offset)
            parts.append(part)
        return "".join(parts)

    async def _fetch(self, id: str) -> None:
        try:
            self._texts[id] = await self.whole_text(id)
        except PiError as error:
            self._texts.setdefault(id, error.explain())
