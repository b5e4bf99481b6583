"""``interruptMode: immediate``: a message for the agent comes before the tools still to run."""

from __future__ import annotations

from pi.agent.policy import Policy, ToolRefused
from pi.ai.messages import ToolCall
from pi.coding.runtime.core import Core

SKIPPED = "Skipped: the person sent a message, which comes next."


class Interrupting(Policy):
    """Skips the calls of a turn that have not begun when somebody steers."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """Let the call run, unless something more urgent waits."""
        immediate = self._core.workspace.values.interrupt_mode == "immediate"
        if immediate and self._core.agent.inbox.steering:
            raise ToolRefused(SKIPPED)
        return call
