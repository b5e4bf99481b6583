from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from pi.agent.policy import Next, Policy, StopRun, ToolRefused
from pi.agent.tools.define import tool
from pi.agent.tools.tool import ToolFailed, ToolResult
from pi.ai.messages import Text, ToolCall
from pi.ai.testing import Reply, call, says
from pi.base.records import replace
from tests.agent.agents import AgentFixture, tasks_left


@tool
async def peek(path: str) -> str:
    """Look at a file."""
    if path == "missing":
        raise ToolFailed("no such file")
    return f"seen {path}"


def peeks(*paths: str) -> Reply:
    return Reply(blocks=tuple(call("peek", id=path, path=path) for path in paths))


class Before(Policy):
    """Calls a function before a tool."""

    def __init__(self, act: Callable[[ToolCall], ToolCall]) -> None:
        self._act = act

    async def before_tool(self, call: ToolCall) -> ToolCall:
        return self._act(call)


class After(Policy):
    """Calls a function after a tool."""

    def __init__(self, act: Callable[[ToolCall, ToolResult], ToolResult]) -> None:
        self._act = act

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        return self._act(call, result)


# Before ------------------------------------------------------------------------------------------


async def test_a_policy_may_refuse_a_call_and_the_model_gets_the_reason() -> None:
    def refuse(call: ToolCall) -> ToolCall:
        if call.id == "secret":
            raise ToolRefused("not allowed here")
        return call

    fixture = AgentFixture(
        peeks("secret", "B"), says("done"), tools=[peek], policies=[Before(refuse)]
    )

    await fixture.agent.prompt("go")

    assert fixture.texts == ["not allowed here", "seen B"]
    assert [result.is_error for result in fixture.results] == [True, False]


async def test_a_call_is_emitted_before_the_before_tool_hooks() -> None:
    emitted: list[str] = []

    def look(call: ToolCall) -> ToolCall:
        emitted.append(fixture.emitted[-1])
        return call

    fixture = AgentFixture(peeks("A", "B"), says("done"), tools=[peek], policies=[Before(look)])

    await fixture.agent.prompt("go")

    assert emitted == ["tool_execution_start A", "tool_execution_start B"]


async def test_changed_arguments_are_validated_again_and_passed_to_the_next_policy() -> None:
    seen: list[ToolCall] = []

    def change(call: ToolCall) -> ToolCall:
        arguments = {"path": "other"} if call.id == "A" else {"path": ["not", "a", "string"]}
        return ToolCall(id="forged", name="forged", arguments=arguments)

    def look(call: ToolCall) -> ToolCall:
        seen.append(call)
        return call

    fixture = AgentFixture(
        peeks("A", "B"), says("done"), tools=[peek], policies=[Before(change), Before(look)]
    )

    await fixture.agent.prompt("go")

    assert fixture.texts[0] == "seen other"
    assert fixture.results[1].is_error
    assert [result.tool_call_id for result in fixture.results] == ["A", "B"]
    # Only arguments can be changed: a call stays the call that it was.
    assert seen == [ToolCall(id="A", name="peek", arguments={"path": "other"})]


@pytest.mark.behaviour("parallel-tools-settle-alone")
async def test_a_policy_that_fails_refuses_that_call_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def explode(call: ToolCall) -> ToolCall:
        if call.id == "A":
            raise RuntimeError("handler exploded")
        return call

    fixture = AgentFixture(peeks("A", "B"), says("done"), tools=[peek], policies=[Before(explode)])

    await fixture.agent.prompt("go")

    assert fixture.texts == ["handler exploded", "seen B"]
    assert "Before failed before peek" in caplog.text


async def test_unknown_invalid_or_refused_calls_are_not_passed_to_further_policies() -> None:
    seen: list[str] = []

    def look(call: ToolCall) -> ToolCall:
        seen.append(f"before {call.id}")
        if call.id == "C":
            raise ToolRefused("no")
        return call

    def after(call: ToolCall, result: ToolResult) -> ToolResult:
        seen.append(f"after {call.id}")
        return result

    batch = Reply(blocks=(call("nope", id="A"), call("peek", id="B"), *peeks("C", "D").blocks))
    fixture = AgentFixture(
        batch, says("done"), tools=[peek], policies=[Before(look), Before(look), After(after)]
    )

    await fixture.agent.prompt("go")

    assert seen == ["before C", "before D", "before D", "after D"]


async def test_a_policy_that_stops_a_run_before_a_tool_prevents_the_whole_batch() -> None:
    ran: list[str] = []

    @tool
    async def poke(path: str) -> str:
        """Touch."""
        ran.append(path)
        return path

    def stop(call: ToolCall) -> ToolCall:
        if call.id == "B":
            raise StopRun("out of money", exit_code=3)
        return call

    batch = Reply(blocks=tuple(call("poke", id=name, path=name) for name in "ABC"))
    fixture = AgentFixture(batch, says("never"), tools=[poke], policies=[Before(stop)])

    ended = await fixture.agent.prompt("go")

    assert ran == []
    assert fixture.texts == ["Operation aborted", "out of money", "Operation aborted"]
    assert ended == Next(action="stop", reason="out of money", exit_code=3)
    assert fixture.emitted[-3:] == ["turn_end", "agent_end", "agent_settled"]
    assert len(fixture.provider.requests) == 1


# After -------------------------------------------------------------------------------------------


async def test_a_policy_can_change_the_result_of_a_tool_even_of_a_failed_one() -> None:
    def override(call: ToolCall, result: ToolResult) -> ToolResult:
        text = "".join(block.text for block in result.content if isinstance(block, Text))
        return ToolResult.of(text.upper(), is_error=not result.is_error, details={"z": 1})

    fixture = AgentFixture(
        peeks("A", "missing"), says("done"), tools=[peek], policies=[After(override)]
    )

    await fixture.agent.prompt("go")

    assert fixture.texts == ["SEEN A", "NO SUCH FILE"]
    assert [(result.is_error, result.details) for result in fixture.results] == [
        (True, {"z": 1}),
        (False, {"z": 1}),
    ]


async def test_an_after_tool_hook_gets_the_arguments_that_were_used() -> None:
    seen: list[dict[str, object]] = []

    def change(call: ToolCall) -> ToolCall:
        return replace(call, arguments={"path": "other"})

    def after(call: ToolCall, result: ToolResult) -> ToolResult:
        seen.append(call.arguments)
        return result

    fixture = AgentFixture(
        peeks("A"), says("done"), tools=[peek], policies=[Before(change), After(after)]
    )

    await fixture.agent.prompt("go")

    assert seen == [{"path": "other"}]


async def test_a_policy_that_fails_after_a_tool_leaves_the_result_as_it_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def explode(call: ToolCall, result: ToolResult) -> ToolResult:
        raise RuntimeError("handler exploded")

    fixture = AgentFixture(peeks("A"), says("done"), tools=[peek], policies=[After(explode)])

    await fixture.agent.prompt("go")

    assert fixture.texts == ["seen A"]
    assert "After failed after peek" in caplog.text


async def test_a_policy_that_stops_a_run_after_a_tool_cancels_the_running_calls() -> None:
    begun = asyncio.Event()

    @tool
    async def wait(path: str) -> str:
        """Wait."""
        if path == "A":
            await begun.wait()
            return "A is done"
        begun.set()
        await asyncio.Event().wait()
        return "never"

    def stop(call: ToolCall, result: ToolResult) -> ToolResult:
        raise StopRun("enough")

    batch = Reply(blocks=(call("wait", id="A", path="A"), call("wait", id="B", path="B")))
    fixture = AgentFixture(batch, says("never"), tools=[wait], policies=[After(stop)])

    ended = await fixture.agent.prompt("go")

    assert fixture.texts == ["A is done", "Operation aborted"]
    assert ended == Next(action="stop", reason="enough")
    assert await tasks_left() == set()
