from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from pi.agent.events import AgentEnd, AgentEvent, ToolExecutionEnd, ToolExecutionUpdate
from pi.agent.policy import Boundary, Next, Policy
from pi.agent.tool import ToolContext, ToolFailed, ToolResult
from pi.agent.tool_calls import CLEAN_UP_SECONDS
from pi.agent.tool_forms import make_tool, tool
from pi.ai.handoff import prepare, same_id
from pi.ai.messages import AssistantMessage, Image, Json, Text, ToolCall, UserMessage
from pi.ai.providers.faux import FAUX_MODEL
from pi.base.records import replace
from pi.testing import Reply, call, says
from tests.agent.agents import Stage, tasks_left
from tests.agent.event_grammar import EventGrammar


class Sleeper:
    """A tool that waits until it is cancelled, and says so in its own way."""

    def __init__(self, how: str = "at once", **options: Any) -> None:
        self.begun = asyncio.Event()
        self.contexts: list[ToolContext] = []
        self.how = how
        self.released = asyncio.Event()
        self.tool = make_tool(
            name="sleep",
            description="Wait.",
            params={"type": "object"},
            run=self.run,
            **options,
        )

    async def run(self, arguments: Json, ctx: ToolContext) -> str:
        self.contexts.append(ctx)
        self.begun.set()
        while not self.released.is_set():
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                if self.how == "politely":
                    raise ToolFailed("a\n\nCommand aborted") from None
                if self.how == "at once":
                    raise
        ctx.update(ToolResult.of("too late"))
        return "done"


def sleeps(*names: str) -> Reply:
    return Reply(blocks=tuple(call("sleep", id=name) for name in names))


LAST_TURN = [
    "turn_end",
    "turn_start",
    "message_start assistant:error",
    "message_end assistant:error",
    "turn_end",
    "agent_end",
    "agent_settled",
]


async def abort_when(begun: asyncio.Event, stage: Stage) -> None:
    running = asyncio.create_task(stage.agent.prompt("go"))
    await begun.wait()
    stage.agent.abort()
    await running
    assert await tasks_left() == set()


# Tools -------------------------------------------------------------------------------------------


@pytest.mark.trap(83)
async def test_running_tools_are_cancelled_and_one_last_turn_says_so() -> None:
    sleeper = Sleeper()
    stage = Stage(sleeps("A", "B"), says("never"), tools=[sleeper.tool])

    await abort_when(sleeper.begun, stage)

    assert stage.texts == ["Operation aborted", "Operation aborted"]
    assert stage.told[-7:] == LAST_TURN
    assert stage.agent.state.messages[-1].error_message == "This operation was aborted"
    assert len(stage.provider.requests) == 1
    assert stage.agent.state.pending_tool_calls == frozenset()


async def test_tools_that_are_cancelled_before_their_first_step_have_results_too() -> None:
    class Aborts(Policy):
        async def before_tool(self, call: ToolCall) -> ToolCall:
            if call.id == "B":  # right behind the hook, and before any tool can begin
                asyncio.get_running_loop().call_soon(stage.agent.abort)
            return call

    sleeper = Sleeper()
    stage = Stage(sleeps("A", "B"), tools=[sleeper.tool], policies=[Aborts()])

    await stage.agent.prompt("go")

    assert sleeper.contexts == []
    assert stage.texts == ["Operation aborted", "Operation aborted"]
    EventGrammar().follow(stage.events)


async def test_a_tool_may_say_in_its_own_words_that_it_was_aborted() -> None:
    sleeper = Sleeper("politely")
    stage = Stage(sleeps("A"), tools=[sleeper.tool])

    await abort_when(sleeper.begun, stage)

    assert stage.texts == ["a\n\nCommand aborted"]
    assert stage.results[0].is_error


async def test_a_tool_that_does_not_stop_is_left_alone_and_cannot_tell_anything_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sleeper = Sleeper("never")
    stage = Stage(sleeps("A"), tools=[sleeper.tool])
    running = asyncio.create_task(stage.agent.prompt("go"))
    await sleeper.begun.wait()

    stage.agent.abort()
    await stage.clock.advance(CLEAN_UP_SECONDS - 0.1)
    assert not running.done()
    await stage.clock.advance(0.2)
    await running
    told = len(stage.events)
    sleeper.released.set()

    assert await tasks_left() == set()
    assert stage.texts == ["Operation aborted"]
    assert len(stage.events) == told
    assert not any(isinstance(event, ToolExecutionUpdate) for event in stage.events)
    assert "tool sleep does not end" in caplog.text


async def test_a_tool_that_ends_after_it_was_left_alone_does_not_end_twice() -> None:
    sleeper = Sleeper("never")
    stage = Stage(sleeps("A"), tools=[sleeper.tool])
    stage.on("tool_execution_end A", sleeper.released.set)
    stage.on("tool_execution_end A", tasks_left)
    running = asyncio.create_task(stage.agent.prompt("go"))
    await sleeper.begun.wait()

    stage.agent.abort()
    await stage.clock.advance(CLEAN_UP_SECONDS)
    await running

    EventGrammar().follow(stage.events)
    assert stage.texts == ["Operation aborted"]


async def test_calls_that_have_not_begun_are_announced_and_refused() -> None:
    sleeper = Sleeper(execution_mode="sequential")
    stage = Stage(sleeps("A", "B", "C"), tools=[sleeper.tool])

    await abort_when(sleeper.begun, stage)

    assert [line for line in stage.told if line.startswith("tool_")] == [
        "tool_execution_start A",
        "tool_execution_end A",
        "tool_execution_start B",
        "tool_execution_end B",
        "tool_execution_start C",
        "tool_execution_end C",
    ]
    assert len(sleeper.contexts) == 1
    assert stage.texts == ["Operation aborted"] * 3


@pytest.mark.trap(83)
async def test_an_abort_ends_a_question_and_later_calls_are_not_asked_about() -> None:
    asked: list[str] = []
    open_dialog = asyncio.Event()

    class Confirms(Policy):
        async def before_tool(self, call: ToolCall) -> ToolCall:
            asked.append(call.id)
            if call.id == "B":
                open_dialog.set()
                await asyncio.Event().wait()
            return call

    sleeper = Sleeper()
    stage = Stage(sleeps("A", "B", "C"), tools=[sleeper.tool], policies=[Confirms()])

    await abort_when(open_dialog, stage)

    assert asked == ["A", "B"]
    assert sleeper.contexts == []  # what was allowed before the abort does not run after it
    assert stage.texts == ["Operation aborted"] * 3


async def test_a_policy_that_is_cut_after_a_tool_does_not_lose_its_result() -> None:
    begun = asyncio.Event()

    class Slow(Policy):
        async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
            begun.set()
            await asyncio.Event().wait()
            return result

    class Marks(Policy):
        async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
            return replace(result, details={"marked": True})

    sleeper = Sleeper()
    sleeper.released.set()
    stage = Stage(sleeps("A"), tools=[sleeper.tool], policies=[Slow(), Marks()])

    await abort_when(begun, stage)

    assert stage.texts == ["done"]
    assert stage.results[0].details == {"marked": True}


async def test_a_tool_that_aborts_its_own_run_may_still_say_what_it_did() -> None:
    @tool
    async def quit(later: int = 0) -> str:
        """Abort."""
        stage.agent.abort()
        await asyncio.sleep(0)
        return "quit"

    sleeper = Sleeper()
    batch = Reply(blocks=(*sleeps("A").blocks, call("quit", id="B")))
    stage = Stage(batch, tools=[sleeper.tool, quit])

    await stage.agent.prompt("go")

    assert stage.texts == ["Operation aborted", "quit"]
    assert stage.told[-7:] == LAST_TURN


async def test_a_sync_tool_is_left_alone_at_once() -> None:
    begun, loop = asyncio.Event(), asyncio.get_running_loop()
    release = threading.Event()

    @tool
    def block(ctx: ToolContext) -> str:
        """Block."""
        loop.call_soon_threadsafe(begun.set)
        release.wait(10)
        ctx.update(ToolResult.of("late"))
        return "late"

    stage = Stage(Reply(blocks=(call("block", id="A"),)), tools=[block])
    try:
        await abort_when(begun, stage)
    finally:
        release.set()

    assert stage.texts == ["Operation aborted"]


# Everywhere else ---------------------------------------------------------------------------------


POINTS = [
    "agent_start",
    "turn_start",
    "message_start user",
    "message_end user",
    "message_start assistant:pending",
    "message_end assistant:toolUse",
    "tool_execution_start A",
    "tool_execution_end A",
    "message_start toolresult",
    "message_end toolresult",
    "turn_end",
    "message_end assistant:stop",
    "agent_end",
    "agent_settled",
]


@pytest.mark.parametrize("point", POINTS)
async def test_a_listener_may_abort_at_any_event_and_the_transcript_stays_valid(
    point: str,
) -> None:
    sleeper = Sleeper()
    sleeper.released.set()
    stage = Stage(sleeps("A"), says("done"), says("next"), tools=[sleeper.tool])
    stage.on(point, stage.agent.abort)

    await stage.agent.prompt("go")

    assert stage.told[-2:] == ["agent_end", "agent_settled"]
    EventGrammar().follow(stage.events)
    assert await tasks_left() == set()
    shown = prepare(stage.agent.state.messages, FAUX_MODEL, same_id)
    assert sum(len(m.tool_calls) for m in shown if isinstance(m, AssistantMessage)) == sum(
        type(m).__name__ == "ToolResultMessage" for m in shown
    )
    stage.provider.add(says("still here"))
    await stage.agent.prompt("are you there?")
    assert stage.roles[-1] == "assistant:stop"


async def test_aborting_twice_or_when_idle_changes_nothing() -> None:
    stage = Stage(says("one two three"), says("fine"))
    stage.agent.abort()

    def abort_twice() -> None:
        stage.agent.abort()
        stage.agent.abort()

    stage.on("message_start assistant:pending", abort_twice)
    await stage.agent.prompt("go")
    stage.agent.abort()
    await stage.agent.prompt("go on")

    assert stage.roles == ["user", "assistant:aborted", "user", "assistant:stop"]


async def test_an_abort_before_the_first_step_keeps_the_prompt() -> None:
    stage = Stage(says("never"))
    running = asyncio.create_task(stage.agent.prompt("go"))
    await asyncio.sleep(0)  # the prompt was taken, and nothing has happened yet

    assert (stage.agent.state.is_streaming, stage.told) == (True, [])
    stage.agent.abort()
    await running

    assert stage.provider.requests == []
    assert stage.roles == ["user", "assistant:error"]


async def test_an_abort_ends_what_is_waited_for_between_two_turns() -> None:
    begun = asyncio.Event()

    async def forever() -> None:
        begun.set()
        await asyncio.Event().wait()

    class Prepares(Policy):
        async def at_boundary(self, at: Boundary) -> Next:
            return Next(action="again", prepare=forever) if at.results else at.next

    sleeper = Sleeper()
    sleeper.released.set()
    stage = Stage(sleeps("A"), says("never"), tools=[sleeper.tool], policies=[Prepares()])

    await abort_when(begun, stage)

    assert stage.told[-7:] == LAST_TURN


async def test_after_an_abort_nothing_is_prepared_any_more() -> None:
    prepared: list[str] = []

    async def prepare_it() -> None:
        prepared.append("in vain")

    class Prepares(Policy):
        async def at_boundary(self, at: Boundary) -> Next:
            return Next(action="again", prepare=prepare_it) if at.kind == "turn" else at.next

    sleeper = Sleeper()
    stage = Stage(sleeps("A"), tools=[sleeper.tool], policies=[Prepares()])

    await abort_when(sleeper.begun, stage)

    assert prepared == []
    assert stage.told.count("agent_start") == 1


@pytest.mark.trap(80)
@pytest.mark.parametrize("point", ["tool_execution_start A", "turn_end", "turn_start"])
async def test_queued_messages_survive_an_abort_with_their_images(point: str) -> None:
    picture = Image(data="aGk=", mime_type="image/png")
    sleeper = Sleeper()
    sleeper.released.set()
    stage = Stage(sleeps("A"), says("answered"), says("followed"), tools=[sleeper.tool])
    await stage.agent.follow_up("later")

    async def steer_and_abort() -> None:
        await stage.agent.steer("look at this", [picture])
        stage.agent.abort()

    stage.on("message_end user", lambda: stage.on(point, steer_and_abort))
    await stage.agent.prompt("go")
    roles = stage.roles

    assert roles.count("user") == 1
    assert len(stage.agent.inbox.steering) == len(stage.agent.inbox.follow_ups) == 1
    await stage.agent.prompt("again")
    said = [m for m in stage.agent.state.messages if isinstance(m, UserMessage)]
    assert said[2].content == (Text(text="look at this"), picture)


async def test_a_half_streamed_call_is_never_sent_back() -> None:
    stage = Stage(
        Reply(blocks=(Text(text="so"), call("sleep", id="A"), Text(text="and on and on"))),
        says("fine"),
        tools=[Sleeper().tool],
    )

    def abort(event: AgentEvent) -> None:
        kind = getattr(event, "assistant_message_event", None)
        if type(kind).__name__ == "ToolCallStart":
            stage.agent.abort()

    stage.agent.subscribe(abort)
    await stage.agent.prompt("go")
    await stage.agent.prompt("again")

    assert stage.results == []
    shown = prepare(stage.provider.requests[-1].messages, FAUX_MODEL, same_id)
    assert [type(message).__name__ for message in shown] == [
        "SystemMessage",
        "UserMessage",
        "UserMessage",
    ]


async def test_an_aborted_run_never_says_that_another_one_follows() -> None:
    class Eager(Policy):
        async def at_boundary(self, at: Boundary) -> Next:
            return Next(action="again", new_run=True)

    stage = Stage(says("one two"), policies=[Eager()])
    stage.on("message_start assistant:pending", stage.agent.abort)

    await stage.agent.prompt("go")

    ends = [event for event in stage.events if isinstance(event, AgentEnd)]
    assert [end.will_retry for end in ends] == [False]


async def test_the_end_of_a_tool_is_told_before_its_result_is_kept() -> None:
    kept: list[int] = []
    sleeper = Sleeper()
    stage = Stage(sleeps("A", "B"), tools=[sleeper.tool])

    def count(event: AgentEvent) -> None:
        if isinstance(event, ToolExecutionEnd):
            kept.append(len(stage.results))

    stage.agent.subscribe(count)
    await abort_when(sleeper.begun, stage)

    assert kept == [0, 0]
