"""How far an agent has come with its run."""

from __future__ import annotations

from pi.agent.events import (
    AgentEvent,
    MessageEnd,
    MessageStart,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from pi.ai.messages import AssistantMessage
from pi.ai.stream import EventStream


class Progress:
    """Follows what an agent tells; nothing is open between two runs."""

    def __init__(self) -> None:
        self.open_calls: set[str] = set()
        """The calls of tools that have not ended."""
        self.error: str | None = None
        """Why the last answer failed, if it did."""
        self._answer: EventStream | None = None
        self._answering = False

    @property
    def partial_answer(self) -> AssistantMessage | None:
        """The answer that is being streamed, as far as it has come."""
        return self._answer.partial if self._answering and self._answer is not None else None

    def ask(self, answer: EventStream) -> None:
        """The model was asked; this is what it will answer."""
        self._answer = answer

    def hear(self, event: AgentEvent) -> None:
        """Take what the agent tells."""
        match event:
            case MessageStart(message=AssistantMessage()):
                self._answering = True
            case MessageEnd(message=AssistantMessage() as message):
                self._answering = False
                self.error = message.error_message or None
            case ToolExecutionStart():
                self.open_calls.add(event.tool_call_id)
            case ToolExecutionEnd():
                self.open_calls.discard(event.tool_call_id)
            case _:
                pass

    def end(self) -> None:
        """The run is over."""
        self._answer = None
        self._answering = False
        self.open_calls.clear()
