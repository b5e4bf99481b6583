"""A scripted agent for tests and the events that it emitted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from pi.agent.agent import Agent, StreamFn
from pi.agent.events import AgentEvent, MessageEnd, MessageStart, MessageUpdate
from pi.agent.policy import Policy
from pi.agent.tools.tool import AgentTool
from pi.ai.messages import ToolResultMessage
from pi.ai.providers.faux import FAUX_MODEL, Step
from pi.ai.testing import ScriptedStream
from pi.base.testing import FakeClock


class AgentFixture:
    """An agent with a script, and everything it emitted in short form."""

    def __init__(
        self,
        *steps: Step,
        tools: Iterable[AgentTool] = (),
        policies: Iterable[Policy] = (),
        stream: StreamFn | None = None,
        **options: Any,
    ) -> None:
        self.clock = FakeClock()
        self.provider = ScriptedStream(*steps)
        self.agent = Agent(
            stream or self.provider,
            model=FAUX_MODEL,
            tools=tools,
            policies=policies,
            clock=self.clock,
            **options,
        )
        self.events: list[AgentEvent] = []
        self.agent.subscribe(self.events.append)

    def on(self, what: str, act: Callable[[], Any]) -> None:
        """Call, and await, ``act`` when the first event of the form ``what`` is emitted."""

        async def listen(event: AgentEvent) -> None:
            if not isinstance(event, MessageUpdate) and short(event) == what:
                end()
                pending = act()
                if pending is not None:
                    await pending

        end = self.agent.subscribe(listen)

    @property
    def emitted(self) -> list[str]:
        """The events in short form, without the deltas."""
        return [short(event) for event in self.events if not isinstance(event, MessageUpdate)]

    @property
    def roles(self) -> list[str]:
        """The roles of the messages in the log."""
        return [role(message) for message in self.agent.state.messages]

    @property
    def results(self) -> list[ToolResultMessage]:
        """The results of tools, in the log."""
        messages = self.agent.state.messages
        return [message for message in messages if isinstance(message, ToolResultMessage)]

    @property
    def texts(self) -> list[str]:
        """The texts of the tool results."""
        return [words(result) for result in self.results]


def role(message: Any) -> str:
    """A message in short form."""
    reason = getattr(message, "stop_reason", "")
    name = type(message).__name__.removesuffix("Message").lower()
    return f"{name}:{reason}" if reason else name


def words(message: Any) -> str:
    """The text of a message with blocks."""
    return "".join(getattr(block, "text", "") for block in message.content)


def short(event: AgentEvent) -> str:
    """An event as a word or two."""
    name = type(event).__struct_config__.tag
    match event:
        case MessageStart() | MessageEnd():
            return f"{name} {role(event.message)}"
        case _:
            call = getattr(event, "tool_call_id", "")
            return f"{name} {call}".strip()


async def tasks_left() -> set[str]:
    """The names of the tasks that still run beside the test, once the cancelled ones have ended."""
    for _ in range(3):
        await asyncio.sleep(0)
    return {task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()}
