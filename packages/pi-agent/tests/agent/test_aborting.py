from __future__ import annotations

import asyncio
import threading

import pytest

from pi.agent.events import ToolExecutionUpdate
from pi.agent.policy import Policy
from pi.agent.tool_calls import CLEAN_UP_SECONDS
from pi.agent.tools.define import tool
from pi.agent.tools.tool import ToolContext, ToolResult
from pi.ai.messages import ToolCall
from pi.ai.testing import Reply, call, says
from pi.base.records import replace
from tests.agent.agents import AgentFixture, tasks_left
from tests.agent.event_grammar import EventGrammar
from tests.agent.waiting_tool import LAST_TURN, WaitingTool, abort_when, sleeps


@pytest.mark.behaviour("abort-pairs-finished-calls")
async def test_running_tools_are_cancelled_and_one_last_turn_reports_it() -> None:
    sleeper = WaitingTool()
    fixture = AgentFixture(sleeps("A", "B"), says("never"), tools=[sleeper.tool])

    await abort_when(sleeper.begun, fixture)

    assert fixture.texts == ["Operation aborted", "Operation aborted"]
    assert fixture.emitted[-7:] == LAST_TURN
    assert fixture.agent.state.messages[-1].error_message == "This operation was aborted"
    assert len(fixture.provider.requests) == 1
    assert fixture.agent.state.pending_tool_calls == frozenset()


async def test_tools_that_are_cancelled_before_their_first_step_have_results_too() -> None:
    class Aborts(Policy):
        async def before_tool(self, call: ToolCall) -> ToolCall:
            if call.id == "B":  # right behind the hook, and before any tool can begin
                asyncio.get_running_loop().call_soon(fixture.agent.abort)
            return call

    sleeper = WaitingTool()
    fixture = AgentFixture(sleeps("A", "B"), tools=[sleeper.tool], policies=[Aborts()])

    await fixture.agent.prompt("go")

    assert sleeper.contexts == []
    assert fixture.texts == ["Operation aborted", "Operation aborted"]
    EventGrammar().follow(fixture.events)


async def test_a_tool_can_report_an_abort_with_its_own_text() -> None:
    sleeper = WaitingTool("politely")
    fixture = AgentFixture(sleeps("A"), tools=[sleeper.tool])

    await abort_when(sleeper.begun, fixture)

    assert fixture.texts == ["a\n\nCommand aborted"]
    assert fixture.results[0].is_error


async def test_a_tool_that_does_not_stop_is_abandoned_and_emits_nothing_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sleeper = WaitingTool("never")
    fixture = AgentFixture(sleeps("A"), tools=[sleeper.tool])
    running = asyncio.create_task(fixture.agent.prompt("go"))
    await sleeper.begun.wait()

    fixture.agent.abort()
    await fixture.clock.advance(CLEAN_UP_SECONDS - 0.1)
    assert not running.done()
    await fixture.clock.advance(0.2)
    await running
    emitted = len(fixture.events)
    sleeper.released.set()

    assert await tasks_left() == set()
    assert fixture.texts == ["Operation aborted"]
    assert len(fixture.events) == emitted
    assert not any(isinstance(event, ToolExecutionUpdate) for event in fixture.events)
    assert "tool sleep did not stop" in caplog.text


async def test_an_abandoned_tool_that_ends_late_does_not_emit_a_second_end() -> None:
    sleeper = WaitingTool("never")
    fixture = AgentFixture(sleeps("A"), tools=[sleeper.tool])
    fixture.on("tool_execution_end A", sleeper.released.set)
    fixture.on("tool_execution_end A", tasks_left)
    running = asyncio.create_task(fixture.agent.prompt("go"))
    await sleeper.begun.wait()

    fixture.agent.abort()
    await fixture.clock.advance(CLEAN_UP_SECONDS)
    await running

    EventGrammar().follow(fixture.events)
    assert fixture.texts == ["Operation aborted"]


async def test_calls_that_have_not_begun_are_emitted_as_aborted() -> None:
    sleeper = WaitingTool(execution_mode="sequential")
    fixture = AgentFixture(sleeps("A", "B", "C"), tools=[sleeper.tool])

    await abort_when(sleeper.begun, fixture)

    assert [line for line in fixture.emitted if line.startswith("tool_")] == [
        "tool_execution_start A",
        "tool_execution_end A",
        "tool_execution_start B",
        "tool_execution_end B",
        "tool_execution_start C",
        "tool_execution_end C",
    ]
    assert len(sleeper.contexts) == 1
    assert fixture.texts == ["Operation aborted"] * 3


@pytest.mark.behaviour("abort-pairs-finished-calls")
async def test_an_abort_cancels_a_confirmation_and_later_calls_are_not_confirmed() -> None:
    approved: list[str] = []
    open_dialog = asyncio.Event()

    class Confirms(Policy):
        async def before_tool(self, call: ToolCall) -> ToolCall:
            approved.append(call.id)
            if call.id == "B":
                open_dialog.set()
                await asyncio.Event().wait()
            return call

    sleeper = WaitingTool()
    fixture = AgentFixture(sleeps("A", "B", "C"), tools=[sleeper.tool], policies=[Confirms()])

    await abort_when(open_dialog, fixture)

    assert approved == ["A", "B"]
    assert sleeper.contexts == []  # what was allowed before the abort does not run after it
    assert fixture.texts == ["Operation aborted"] * 3


async def test_a_result_is_kept_when_an_after_tool_hook_is_cancelled_by_an_abort() -> None:
    begun = asyncio.Event()

    class Slow(Policy):
        async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
            begun.set()
            await asyncio.Event().wait()
            return result

    class Marks(Policy):
        async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
            return replace(result, details={"marked": True})

    sleeper = WaitingTool()
    sleeper.released.set()
    fixture = AgentFixture(sleeps("A"), tools=[sleeper.tool], policies=[Slow(), Marks()])

    await abort_when(begun, fixture)

    assert fixture.texts == ["done"]
    assert fixture.results[0].details == {"marked": True}


async def test_a_tool_that_aborts_its_own_run_can_still_return_its_result() -> None:
    @tool
    async def quit(later: int = 0) -> str:
        """Abort."""
        fixture.agent.abort()
        await asyncio.sleep(0)
        return "quit"

    sleeper = WaitingTool()
    batch = Reply(blocks=(*sleeps("A").blocks, call("quit", id="B")))
    fixture = AgentFixture(batch, tools=[sleeper.tool, quit])

    await fixture.agent.prompt("go")

    assert fixture.texts == ["Operation aborted", "quit"]
    assert fixture.emitted[-7:] == LAST_TURN


async def test_a_sync_tool_is_abandoned_at_once_on_abort() -> None:
    begun, loop = asyncio.Event(), asyncio.get_running_loop()
    release = threading.Event()

    @tool
    def block(ctx: ToolContext) -> str:
        """Block."""
        loop.call_soon_threadsafe(begun.set)
        release.wait(10)
        ctx.update(ToolResult.of("late"))
        return "late"

    fixture = AgentFixture(Reply(blocks=(call("block", id="A"),)), tools=[block])
    try:
        await abort_when(begun, fixture)
    finally:
        release.set()

    assert fixture.texts == ["Operation aborted"]
