"""The acceptance criteria of the agent runtime, one test each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from pi.agent.agent import Agent
from pi.agent.errors import AgentBusy
from pi.agent.events import AgentEvent, MessageUpdate, ToolExecutionEnd, ToolExecutionStart
from pi.agent.policy import Policy, ToolRefused
from pi.agent.tools.define import tool
from pi.agent.tools.tool import ToolContext
from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import EventStream, Flush
from pi.ai.messages import AssistantMessage, Context, ToolCall, ToolResultMessage, UserMessage
from pi.ai.models.model import Model
from pi.ai.providers.faux import FAUX_MODEL
from pi.ai.request import StreamOptions
from pi.ai.testing import ScriptedStream
from pi.testing import Reply, call, calls, says

NOTES = {"shopping.txt": "milk, bread", "todo.txt": "write tests"}


@tool
async def read_note(name: str) -> str:
    """Show a note.

    Args:
        name: which one
    """
    return NOTES[name]


def transcript(agent: Agent) -> list[str]:
    """Return the conversation, one line per message."""
    lines = []
    for message in agent.state.messages:
        match message:
            case UserMessage() | ToolResultMessage():
                blocks = message.content
                text = "".join(getattr(block, "text", "") for block in blocks)
                lines.append(f"{type(message).__name__.removesuffix('Message')}: {text}")
            case AssistantMessage():
                lines.append(f"{message.stop_reason}: {message.text}")
    return lines


def names(events: Sequence[AgentEvent]) -> list[str]:
    return [type(event).__name__ for event in events]


# FR-02
async def test_an_agent_runs_until_there_are_no_tool_calls_and_follow_ups() -> None:
    stream = ScriptedStream(
        Reply(
            blocks=(
                *says("Let me look.").blocks,
                call("read_note", name="todo.txt"),
                call("read_note", name="shopping.txt"),
            )
        ),
        says("Tests, milk and bread."),
        says("You are welcome."),
    )
    agent = Agent(stream, model=FAUX_MODEL, tools=[read_note])
    events: list[AgentEvent] = []
    agent.subscribe(events.append)
    await agent.follow_up("Thanks!")

    await agent.prompt("What is to be done?")

    assert transcript(agent) == [
        "User: What is to be done?",
        "toolUse: Let me look.",
        "ToolResult: write tests",
        "ToolResult: milk, bread",
        "stop: Tests, milk and bread.",
        "User: Thanks!",
        "stop: You are welcome.",
    ]
    assert any(isinstance(event, MessageUpdate) for event in events)
    assert names(events)[-2:] == ["AgentEnd", "AgentSettled"]


# FR-04
async def test_one_sequential_tool_makes_the_whole_batch_sequential() -> None:
    running: set[str] = set()
    together: list[set[str]] = []

    async def work(ctx: ToolContext, steps: int) -> str:
        running.add(ctx.call_id)
        for _ in range(steps):
            together.append(set(running))
            await asyncio.sleep(0)
        running.discard(ctx.call_id)
        return ctx.call_id

    @tool
    async def look(ctx: ToolContext, steps: int) -> str:
        """Take a while."""
        return await work(ctx, steps)

    @tool(execution_mode="sequential")
    async def move(ctx: ToolContext, steps: int) -> str:
        """Take a while, alone."""
        return await work(ctx, steps)

    slow, quick = call("look", id="slow", steps=5), call("look", id="quick", steps=1)
    stream = ScriptedStream(
        Reply(blocks=(slow, call("move", id="alone", steps=2), quick)),
        Reply(blocks=(slow, quick)),
        says("Done."),
    )
    agent = Agent(stream, model=FAUX_MODEL, tools=[look, move])
    events: list[AgentEvent] = []
    agent.subscribe(events.append)

    await agent.prompt("Go.")

    reported = [
        f"{type(event).__name__.removeprefix('ToolExecution')} {event.tool_call_id}"
        for event in events
        if isinstance(event, ToolExecutionStart | ToolExecutionEnd)
    ]
    assert reported[:6] == [
        "Start slow",
        "End slow",
        "Start alone",
        "End alone",
        "Start quick",
        "End quick",
    ]
    assert reported[6:] == ["Start slow", "Start quick", "End quick", "End slow"]
    assert max(map(len, together[:8])) == 1
    assert max(map(len, together[8:])) == 2
    results = [m.tool_call_id for m in agent.state.messages if isinstance(m, ToolResultMessage)]
    assert results == ["slow", "alone", "quick", "slow", "quick"]


# FR-05
async def test_a_hook_blocks_a_call_and_the_model_gets_an_error_result() -> None:
    opened: list[str] = []

    @tool
    async def open_door(which: str) -> str:
        """Open a door."""
        opened.append(which)
        return "open"

    class Guard(Policy):
        async def before_tool(self, call: ToolCall) -> ToolCall:
            if call.arguments["which"] == "vault":
                raise ToolRefused("The vault stays closed.")
            return call

    stream = ScriptedStream(
        Reply(blocks=(call("open_door", which="vault"), call("open_door", which="garden"))),
        says("Only the garden, then."),
    )
    agent = Agent(stream, model=FAUX_MODEL, tools=[open_door], policies=[Guard()])

    await agent.prompt("Open everything.")

    assert opened == ["garden"]
    results = [m for m in agent.state.messages if isinstance(m, ToolResultMessage)]
    assert [result.is_error for result in results] == [True, False]
    assert transcript(agent)[2:4] == ["ToolResult: The vault stays closed.", "ToolResult: open"]


# FR-06
async def test_a_steering_message_is_delivered_while_the_agent_works() -> None:
    @tool
    async def dig() -> str:
        """Dig a hole."""
        await agent.steer("Not there!")
        return "a hole"

    stream = ScriptedStream(calls("dig"), says("Sorry, I stop."), says("never"))
    agent = Agent(stream, model=FAUX_MODEL, tools=[dig])

    await agent.prompt("Dig.")

    assert transcript(agent) == [
        "User: Dig.",
        "toolUse: ",
        "ToolResult: a hole",
        "User: Not there!",
        "stop: Sorry, I stop.",
    ]


# FR-07
async def test_an_abort_cancels_the_stream() -> None:
    cancelled = asyncio.Event()

    def endless(model: Model, context: Context, options: StreamOptions) -> EventStream:
        async def answer(builder: MessageBuilder, flush: Flush) -> None:
            builder.start()
            builder.text(0, "on and ")
            flush()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise

        return EventStream(MessageBuilder(model, now_ms=0), answer)

    agent = Agent(endless, model=FAUX_MODEL)
    agent.subscribe(lambda event: agent.abort() if isinstance(event, MessageUpdate) else None)

    await asyncio.wait_for(agent.prompt("Talk."), 30)

    assert cancelled.is_set()
    assert transcript(agent) == ["User: Talk.", "aborted: on and "]


# FR-07
async def test_an_abort_cancels_the_running_tools() -> None:
    begun: list[str] = []
    cleaned_up: list[str] = []

    @tool
    async def wait(ctx: ToolContext) -> str:
        """Wait for ever."""
        begun.append(ctx.call_id)
        if len(begun) == 2:
            asyncio.get_running_loop().call_soon(agent.abort)
        try:
            await asyncio.Event().wait()
        finally:
            cleaned_up.append(ctx.call_id)
        return "never"

    stream = ScriptedStream(Reply(blocks=(call("wait", id="A"), call("wait", id="B"))))
    agent = Agent(stream, model=FAUX_MODEL, tools=[wait])

    await asyncio.wait_for(agent.prompt("Wait."), 30)

    assert cleaned_up == ["A", "B"]
    assert transcript(agent)[2:4] == ["ToolResult: Operation aborted"] * 2


# NFR-01
async def test_a_second_prompt_during_a_run_is_rejected() -> None:
    agent = Agent(ScriptedStream(says("one"), says("two")), model=FAUX_MODEL)

    first, second = await asyncio.gather(
        agent.prompt("first"), agent.prompt("second"), return_exceptions=True
    )

    assert not isinstance(first, BaseException)
    assert isinstance(second, AgentBusy)
    assert transcript(agent) == ["User: first", "stop: one"]


# NFR-02
@pytest.mark.parametrize("aborted", [False, True])
async def test_a_run_that_raises_ends_with_an_error_message(aborted: bool) -> None:
    def broken(model: Model, context: Context, options: StreamOptions) -> Any:
        if aborted:
            agent.abort()
        raise RuntimeError("the stream function has a bug")

    agent = Agent(broken, model=FAUX_MODEL)
    events: list[AgentEvent] = []
    agent.subscribe(events.append)

    await agent.prompt("Hello?")

    reason = "aborted" if aborted else "error"
    last = agent.state.messages[-1]
    assert (last.stop_reason, last.error_message) == (reason, "the stream function has a bug")
    assert names(events)[-5:] == [
        "MessageStart",
        "MessageEnd",
        "TurnEnd",
        "AgentEnd",
        "AgentSettled",
    ]
