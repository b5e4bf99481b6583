from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import UNSET

from pi.agent.events import ToolExecutionEnd, ToolExecutionUpdate
from pi.agent.policy import Policy, ToolRefused
from pi.agent.tools.define import make_tool, tool
from pi.agent.tools.results import MAX_TEXT
from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed, ToolResult
from pi.ai.builder import INVALID_ARGUMENTS
from pi.ai.messages import AssistantMessage, Json, Text, ToolCall, ToolResultMessage
from pi.ai.testing import Reply, call, calls, says
from pi.base.records import replace
from tests.agent.agents import AgentFixture, tasks_left


@tool
async def peek(path: str) -> str:
    """Look at a file."""
    return f"seen {path}"


def asks(*requested: ToolCall) -> Reply:
    return Reply(blocks=requested)


def peeks(*paths: str) -> list[ToolCall]:
    return [call("peek", id=path, path=path) for path in paths]


def order(fixture: AgentFixture) -> list[str]:
    """The emitted events of tools and their results."""
    return [
        line.removeprefix("tool_execution_")
        for line in fixture.emitted
        if line.startswith("tool_execution_") or line == "message_end toolresult"
    ]


# What a tool may do ------------------------------------------------------------------------------


def odd_tool(name: str, run: Any) -> AgentTool:
    return make_tool(name=name, description="Odd.", params={"type": "object"}, run=run)


async def nothing(arguments: Json, ctx: ToolContext) -> None:
    return None


async def raises(arguments: Json, ctx: ToolContext) -> None:
    raise OSError("the disk is gone")


async def raises_silently(arguments: Json, ctx: ToolContext) -> None:
    raise KeyError


async def gives_up(arguments: Json, ctx: ToolContext) -> None:
    raise ToolFailed("no such file", details={"path": "x"})


async def leaves(arguments: Json, ctx: ToolContext) -> None:
    raise SystemExit(2)


async def cancels_itself(arguments: Json, ctx: ToolContext) -> None:
    raise asyncio.CancelledError


def is_sync_and_raises(arguments: Json, ctx: ToolContext) -> None:
    raise OSError("in a thread")


@pytest.mark.parametrize(
    ("run", "text", "details", "failed"),
    [
        (nothing, "(no output)", None, False),
        (raises, "the disk is gone", {}, True),
        (raises_silently, "KeyError()", {}, True),
        (gives_up, "no such file", {"path": "x"}, True),
        (leaves, "2", {}, True),
        (cancels_itself, "Operation aborted", {}, True),
        (is_sync_and_raises, "in a thread", {}, True),
    ],
)
async def test_every_call_gets_one_result_and_the_run_continues_whatever_the_tool_does(
    run: Any, text: str, details: object, failed: bool
) -> None:
    fixture = AgentFixture(asks(call("odd", id="A")), says("done"), tools=[odd_tool("odd", run)])

    await fixture.agent.prompt("go")

    assert fixture.roles == ["system", "user", "assistant:toolUse", "toolresult", "assistant:stop"]
    [result] = fixture.results
    expected = ToolResultMessage(
        tool_call_id="A",
        tool_name="odd",
        content=(Text(text=text),),
        is_error=failed,
        duration_ms=0,
        timestamp=fixture.clock.now_ms(),
    )
    assert result == (expected if details is None else replace(expected, details=details))


async def test_a_huge_result_is_truncated() -> None:
    async def huge(arguments: Json, ctx: ToolContext) -> str:
        return "x" * (MAX_TEXT + 5)

    fixture = AgentFixture(calls("odd"), says("done"), tools=[odd_tool("odd", huge)])

    await fixture.agent.prompt("go")

    assert len(fixture.texts[0]) < MAX_TEXT + 200
    assert "Output cut" in fixture.texts[0]


@pytest.mark.behaviour("unknown-tool-is-a-result")
async def test_an_unknown_tool_is_reported_as_not_found_and_the_turn_continues() -> None:
    fixture = AgentFixture(asks(call("grep", id="A"), *peeks("B")), says("done"), tools=[peek])

    await fixture.agent.prompt("go")

    assert fixture.texts == ["Tool grep not found. Available tools: peek", "seen B"]
    assert [result.is_error for result in fixture.results] == [True, False]
    assert fixture.roles[-1] == "assistant:stop"


async def test_without_any_tool_every_call_is_unknown() -> None:
    fixture = AgentFixture(calls("grep"), says("done"))

    await fixture.agent.prompt("go")

    assert fixture.texts == ["Tool grep not found. Available tools: none"]


async def test_wrong_arguments_give_an_error_result_that_names_the_problem() -> None:
    fixture = AgentFixture(calls("peek", file="x"), says("done"), tools=[peek])

    await fixture.agent.prompt("go")

    assert fixture.results[0].is_error
    assert "path" in fixture.texts[0]


@pytest.mark.behaviour("arguments-are-coerced")
async def test_arguments_are_coerced_before_the_tool_sees_them() -> None:
    @tool
    async def add(numbers: list[int], times: int = 1) -> str:
        """Add."""
        return f"{sum(numbers) * times!r}"

    fixture = AgentFixture(calls("add", numbers="[1, 2]", times="5"), says("done"), tools=[add])

    await fixture.agent.prompt("go")

    assert fixture.texts == ["15"]


async def test_arguments_that_are_not_json_are_rejected_with_the_received_text() -> None:
    class Breaks(Policy):
        async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
            details = {"toolCallId": "A", "text": '{"path": '}
            broken = {"type": INVALID_ARGUMENTS, "timestamp": 5, "details": details}
            return replace(answer, diagnostics=({"type": "other"}, broken))

    fixture = AgentFixture(asks(*peeks("A", "B")), says("done"), tools=[peek], policies=[Breaks()])

    await fixture.agent.prompt("go")

    assert fixture.texts == ['The arguments of peek are not valid JSON: {"path": ', "seen B"]


@pytest.mark.behaviour("cut-tool-call-is-not-run")
async def test_calls_of_a_truncated_answer_do_not_run() -> None:
    ran: list[str] = []

    @tool
    async def write(path: str) -> str:
        """Write."""
        ran.append(path)
        return "written"

    cut = replace(asks(call("write", path="x")), stop_reason="length")
    fixture = AgentFixture(cut, says("done"), tools=[write])

    await fixture.agent.prompt("go")

    assert ran == []
    assert fixture.results[0].is_error
    assert "Split the work into smaller steps." in fixture.texts[0]
    # That the answer is incomplete can be seen: it is stored and emitted as cut off.
    assert "message_end assistant:length" in fixture.emitted


async def test_a_tool_can_repair_arguments_before_they_are_validated() -> None:
    def mend(arguments: Json) -> Json:
        return {"path": arguments.get("file", "?")}

    async def look(arguments: Json, ctx: ToolContext) -> str:
        return f"{ctx.call_id}: {arguments['path']}"

    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    looks = make_tool(
        name="look", description="Look.", params=schema, run=look, prepare_arguments=mend
    )
    fixture = AgentFixture(asks(call("look", id="A", file="x")), says("done"), tools=[looks])

    await fixture.agent.prompt("go")

    assert fixture.texts == ["A: x"]


@pytest.mark.parametrize("where", ["prepare_arguments", "validate", "touches"])
async def test_an_exception_while_arguments_are_prepared_or_validated_is_an_error_result(
    where: str, caplog: pytest.LogCaptureFixture
) -> None:
    def bug(arguments: Any) -> Any:
        raise ZeroDivisionError("oops")

    async def run(arguments: Json, ctx: ToolContext) -> str:
        return "never"

    fields: dict[str, Any] = {"validate": dict, where: bug}
    odd = AgentTool(name="odd", description="Odd.", parameters={}, run=run, **fields)
    fixture = AgentFixture(calls("odd"), says("done"), tools=[odd])

    await fixture.agent.prompt("go")

    assert fixture.texts == ["The arguments of odd could not be used: oops"]
    assert "could not be validated" in caplog.text


# Together and one by one -------------------------------------------------------------------------


class Gate:
    """A tool whose calls wait for each other according to their arguments."""

    def __init__(self, name: str = "gate", **options: Any) -> None:
        self.ended: dict[str, asyncio.Event] = {}
        self.running: list[str] = []
        self.tool = make_tool(
            name=name,
            description="Wait.",
            params={"type": "object"},
            run=self.run,
            touches=lambda arguments: tuple(arguments.get("paths", ())),
            **options,
        )

    async def run(self, arguments: Json, ctx: ToolContext) -> str:
        self.running.append(ctx.call_id)
        mine = self.ended.setdefault(ctx.call_id, asyncio.Event())
        if "after" in arguments:
            await self.ended.setdefault(arguments["after"], asyncio.Event()).wait()
        mine.set()
        return ctx.call_id


@pytest.mark.behaviour("parallel-tools-settle-alone")
async def test_parallel_calls_end_in_any_order_and_are_stored_in_source_order() -> None:
    gate = Gate()
    batch = asks(
        call("gate", id="A", after="B"), call("gate", id="B", after="C"), call("gate", id="C")
    )
    fixture = AgentFixture(batch, says("done"), tools=[gate.tool])

    await fixture.agent.prompt("go")

    results = ["message_end toolresult"] * 3
    assert order(fixture) == ["start A", "start B", "start C", "end C", "end B", "end A", *results]
    assert fixture.texts == ["A", "B", "C"]


async def test_one_sequential_tool_makes_all_calls_of_the_batch_run_sequentially() -> None:
    gate = Gate()
    alone = Gate(name="alone", execution_mode="sequential")
    batch = asks(call("gate", id="A"), call("alone", id="B"), call("gate", id="C"))
    fixture = AgentFixture(batch, says("done"), tools=[gate.tool, alone.tool])

    await fixture.agent.prompt("go")

    results = ["message_end toolresult"] * 3
    assert order(fixture) == ["start A", "end A", "start B", "end B", "start C", "end C", *results]


async def test_calls_that_change_the_same_file_run_in_their_order() -> None:
    gate = Gate()
    batch = asks(
        call("gate", id="A", paths=["x"], after="D"),
        call("gate", id="B", paths=["x", "y"]),
        call("gate", id="C", paths=["y"]),
        call("gate", id="D", paths=["z"]),
    )
    fixture = AgentFixture(batch, says("done"), tools=[gate.tool])

    await fixture.agent.prompt("go")

    assert gate.running == ["A", "D", "B", "C"]
    assert order(fixture)[4:8] == ["end D", "end A", "end B", "end C"]


async def test_calls_that_never_run_end_before_the_next_one_starts() -> None:
    class No(Policy):
        async def before_tool(self, call: ToolCall) -> ToolCall:
            if call.id == "C":
                raise ToolRefused("not allowed here")
            return call

    batch = asks(call("nope", id="A"), *peeks("B", "C", "D"), call("peek", id="E"))
    fixture = AgentFixture(batch, says("done"), tools=[peek], policies=[No()])

    await fixture.agent.prompt("go")

    starts = ["start A", "end A", "start B", "start C", "end C", "start D", "start E", "end E"]
    assert order(fixture)[:8] == starts
    assert sorted(order(fixture)[8:10]) == ["end B", "end D"]


# Progress ----------------------------------------------------------------------------------------


async def test_progress_is_emitted_in_order_with_the_arguments_that_the_model_sent() -> None:
    class Changes(Policy):
        async def before_tool(self, call: ToolCall) -> ToolCall:
            return replace(call, arguments={"path": "other"})

    async def count(arguments: Json, ctx: ToolContext) -> str:
        ctx.update(ToolResult())
        ctx.update(ToolResult.of("half", details={"n": 1}))
        return f"{arguments['path']}"

    fixture = AgentFixture(
        asks(call("odd", id="A", path="x")),
        says("done"),
        tools=[odd_tool("odd", count)],
        policies=[Changes()],
    )

    await fixture.agent.prompt("go")

    updates = [event for event in fixture.events if isinstance(event, ToolExecutionUpdate)]
    assert [(event.args, event.partial_result.content) for event in updates] == [
        ({"path": "x"}, ()),
        ({"path": "x"}, (Text(text="half"),)),
    ]
    assert order(fixture) == ["start A", "update A", "update A", "end A", "message_end toolresult"]
    assert fixture.texts == ["other"]


@pytest.mark.behaviour("parallel-tools-settle-alone")
async def test_late_progress_is_ignored() -> None:
    kept: list[ToolContext] = []

    async def quick(arguments: Json, ctx: ToolContext) -> str:
        kept.append(ctx)
        return "done"

    fixture = AgentFixture(calls("odd"), says("done"), tools=[odd_tool("odd", quick)])
    fixture.on("turn_end", lambda: kept[0].update(ToolResult.of("late")))

    await fixture.agent.prompt("go")
    kept[0].update(ToolResult.of("later"))

    assert await tasks_left() == set()
    assert not any(isinstance(event, ToolExecutionUpdate) for event in fixture.events)


# Ending the run ----------------------------------------------------------------------------------


@tool
async def finish(really: bool = True) -> ToolResult:
    """End."""
    return ToolResult.of("bye", terminate=really)


@pytest.mark.parametrize(("really", "requests"), [(True, 1), (False, 2)])
async def test_a_run_ends_only_if_every_result_terminates_it(really: bool, requests: int) -> None:
    batch = asks(call("finish"), call("finish", really=really))
    fixture = AgentFixture(batch, says("on it goes"), tools=[finish])

    await fixture.agent.prompt("go")

    assert len(fixture.provider.requests) == requests
    ends = [event for event in fixture.events if isinstance(event, ToolExecutionEnd)]
    assert ends[0].result.terminate


async def test_a_refusal_can_terminate_the_run() -> None:
    class No(Policy):
        async def before_tool(self, call: ToolCall) -> ToolCall:
            raise ToolRefused("enough", terminate=True)

    fixture = AgentFixture(asks(*peeks("A")), tools=[peek], policies=[No()])

    await fixture.agent.prompt("go")

    assert len(fixture.provider.requests) == 1
    assert (fixture.texts, fixture.results[0].is_error) == (["enough"], True)


@pytest.mark.parametrize("failed", [False, True])
async def test_a_useless_result_is_marked_in_the_log_unless_it_failed(failed: bool) -> None:
    async def finds_nothing(arguments: Json, ctx: ToolContext) -> ToolResult:
        return ToolResult.of("nothing", useless=True, is_error=failed)

    fixture = AgentFixture(calls("odd"), says("so be it"), tools=[odd_tool("odd", finds_nothing)])

    await fixture.agent.prompt("go")

    assert fixture.results[0].useless is (UNSET if failed else True)
    sent = fixture.provider.requests[1].messages[-1]
    assert sent == replace(fixture.results[0], useless=UNSET)  # not sent to the model
