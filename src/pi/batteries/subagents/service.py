"""The agents as a service for other extensions: guests of a shared session see and steer them."""

from __future__ import annotations

from pi.batteries.subagents.history import Histories
from pi.batteries.subagents.nodes import AgentNode
from pi.batteries.subagents.work import AgentWork
from pi.extension import Json, PiError, ToolFailed

SERVICE = "agent_hub"
GO_ON = "Go on with your task."


class AgentHub:
    """What ``pi.service("agent_hub")`` returns."""

    def __init__(self, work: AgentWork, histories: Histories) -> None:
        self._work = work
        self.on_change = work.tree.on_change
        """Subscribes to every change. Returns an unsubscribe function."""
        self._histories = histories

    def agents(self) -> list[Json]:
        """One row for each agent, parents before children."""
        return [
            {
                "id": node.id,
                "name": f"{node.id} ({node.agent})",
                "status": node.state,
                "task": node.title,
                **({"parent": node.parent.id} if node.parent is not None else {}),
            }
            for node in self._work.tree.all()
        ]

    async def command(self, id: str, action: str, text: str = "") -> None:
        """``chat``, ``kill`` or ``revive``; raises ``PiError`` if it cannot be done."""
        node = self._find(id)
        try:
            if action == "kill":
                await self._work.cancel([node])
            elif action == "revive":
                await self._work.send(node, text.strip() or GO_ON)
            elif text.strip():
                await self._work.send(node, text)
        except ToolFailed as error:
            raise PiError(str(error)) from error

    async def transcript(self, id: str, offset: int, *, limit: int) -> tuple[str, int | None]:
        """A part of the transcript, and the offset of the next one."""
        try:
            text = self._histories.text(self._find(id))
        except ToolFailed as error:
            raise PiError(str(error)) from error
        end = offset + limit
        return text[offset:end], end if end < len(text) else None

    def _find(self, id: str) -> AgentNode:
        node = self._work.tree.get(id)
        if node is None:
            raise PiError("This sub-agent does not exist any more.")
        return node
