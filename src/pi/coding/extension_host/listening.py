"""What the agent tells, as the events of extensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pi.agent.events import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnStart,
)
from pi.ai.messages import AssistantMessage
from pi.base.clock import Clock
from pi.coding.bus import Event
from pi.coding.extension_host.hooks import Hooks
from pi.coding.extension_host.mailbox import Updates
from pi.coding.extension_host.policy import HostPolicy
from pi.coding.extension_host.run_events import (
    AgentEndEvent,
    AgentSettledEvent,
    AgentStartEvent,
    MessageEndEvent,
    MessageStartEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolExecutionUpdateEvent,
    TurnStartEvent,
)


class Listening:
    """Follows the agent for extensions."""

    def __init__(self, hooks: Hooks, policy: HostPolicy, updates: Updates, clock: Clock) -> None:
        self._hooks = hooks
        self._policy = policy
        self._updates = updates
        self._clock = clock
        self._finished: Any = None
        """The message that handlers have seen already, before it was kept."""

    async def finish(self, message: Any) -> Any:
        """``message_start`` and ``message_end`` of a message that comes whole; gives what to keep.

        Without anybody who could want another one they are told as the agent tells them.
        """
        if not self._hooks.heard(MessageEndEvent):
            return message
        await self._hooks.tell(MessageStartEvent(message=message))
        self._finished = (await self._hooks.ask(MessageEndEvent(message=message))).message
        return self._finished

    async def hear(self, event: Any) -> None:
        """Take one event of the agent that is no token."""
        match event:
            case AgentStart():
                self._policy.turn_index = -1
            case TurnStart():
                self._policy.turn_index += 1
            case MessageEnd(message=AssistantMessage()):
                await self._updates.flushed()
                asked, self._policy.answer_asked = self._policy.answer_asked, False
                if asked:
                    return  # handlers have seen it before it was kept
            case MessageStart(message=message) if message is self._finished:
                return
            case MessageEnd(message=message) if message is self._finished:
                self._finished = None
                return
            case AgentSettled():
                self._policy.forced_prompt = None
            case _:
                pass
        made = _MAKERS.get(type(event))
        if made is not None and self._hooks.heard(made[0]):
            await self._hooks.tell(made[1](event, self))

    def hear_token(self, event: MessageUpdate) -> None:
        """Take one token."""
        self._updates.put(event.assistant_message_event)

    def turn_start(self) -> TurnStartEvent:
        """The event of a turn that begins now."""
        return TurnStartEvent(turn_index=self._policy.turn_index, timestamp=self._clock.now_ms())


_MAKERS: dict[type, tuple[type[Event], Callable[[Any, Listening], Event]]] = {
    AgentStart: (AgentStartEvent, lambda event, _: AgentStartEvent()),
    AgentEnd: (AgentEndEvent, lambda event, _: AgentEndEvent(messages=event.messages)),
    AgentSettled: (AgentSettledEvent, lambda event, _: AgentSettledEvent()),
    TurnStart: (TurnStartEvent, lambda event, listening: listening.turn_start()),
    MessageStart: (MessageStartEvent, lambda event, _: MessageStartEvent(message=event.message)),
    MessageEnd: (MessageEndEvent, lambda event, _: MessageEndEvent(message=event.message)),
    ToolExecutionStart: (
        ToolExecutionStartEvent,
        lambda event, _: ToolExecutionStartEvent(
            tool_call_id=event.tool_call_id, tool_name=event.tool_name, args=event.args
        ),
    ),
    ToolExecutionUpdate: (
        ToolExecutionUpdateEvent,
        lambda event, _: ToolExecutionUpdateEvent(
            tool_call_id=event.tool_call_id,
            tool_name=event.tool_name,
            args=event.args,
            partial_result=event.partial_result,
        ),
    ),
    ToolExecutionEnd: (
        ToolExecutionEndEvent,
        lambda event, _: ToolExecutionEndEvent(
            tool_call_id=event.tool_call_id,
            tool_name=event.tool_name,
            result=event.result,
            is_error=event.is_error,
        ),
    ),
}
"""What each event of the agent is for extensions."""
