from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pi.agent.agent import Agent
from pi.agent.conversation import instruction_changes
from pi.agent.events import AgentEvent, MessageUpdate, ToolExecutionUpdate
from pi.agent.policy import Policy, ToolRefused
from pi.agent.tools.define import make_tool, tool
from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed, ToolResult
from pi.ai.errors import ContextOverflow, ProviderUnavailable
from pi.ai.messages import Json, ToolCall, UserMessage
from pi.ai.providers.faux import FAUX_MODEL, Step
from pi.ai.testing import Reply, ScriptedStream, call, calls, says
from pi.base.records import Record, replace
from pi.base.testing import FakeClock
from tests.agent.golden.orders import RECORDED, order
from tests.agent.golden.policies import FORGET, Compaction, Drafting, Log, Retry

ORDERS: dict[str, list[str]] = json.loads(RECORDED.read_text("utf-8"))


class Recording:
    """An agent whose events are recorded together with what its policies publish."""

    def __init__(self, *steps: Step, tools: list[AgentTool] | None = None) -> None:
        self.log = Log()
        self.published: list[Json] = []
        self.agent = Agent(
            ScriptedStream(*steps),
            model=FAUX_MODEL,
            tools=tools or (),
            conversation=self.log,
            clock=FakeClock(),
        )
        self.agent.subscribe(self.record)

    def record(self, event: AgentEvent) -> None:
        self.published.append(msgspec.json.decode(msgspec.json.encode(event)))

    def policies(self, *policies: Policy) -> None:
        self.agent.policies = policies

    def once(self, kind: type[AgentEvent], act: Callable[[], Any]) -> None:
        """Call, and await, ``act`` at the first event of a kind."""

        async def listen(event: AgentEvent) -> None:
            if isinstance(event, kind):
                end()
                pending = act()
                if pending is not None:
                    await pending

        end = self.agent.subscribe(listen)

    def declare(self) -> None:
        """Declare the tools before the scene begins, as they were when it was recorded."""
        tools = [tool.declaration for tool in self.agent.tools]
        self.log.append(*instruction_changes((), "", tools, now_ms=0))

    async def prompt(self, message: Any = "go") -> list[str]:
        self.published.clear()
        await self.agent.prompt(message)
        return order(self.published)


def shows(*updates: int) -> Callable[[Json, ToolContext], Any]:
    """A tool that emits a number of updates, each in its own step, before it ends."""

    async def run(arguments: Json, ctx: ToolContext) -> str:
        for _ in range(*updates):
            ctx.update(ToolResult())
            await asyncio.sleep(0)
        return "done"

    return run


def odd(name: str, run: Any) -> AgentTool:
    return make_tool(name=name, description="Odd.", params={"type": "object"}, run=run)


@tool
async def peek(path: str) -> str:
    """Look at a file."""
    await asyncio.sleep(0)
    raise ToolFailed(f"no such file: {path}")


async def test_plain_turns_are_emitted_as_recorded() -> None:
    recording = Recording(says("Hello there."), says("And again."), says("With tools."))
    recording.agent.system_prompt = "Be brief."

    assert await recording.prompt() == ORDERS["a plain turn"]
    assert await recording.prompt() == ORDERS["a second turn"]
    recording.agent.tools = (peek,)
    assert await recording.prompt() == ORDERS["a changed set of tools"]


async def test_a_custom_message_of_the_application_is_emitted_as_recorded() -> None:
    class Custom(Record, tag_field="role", tag="custom"):
        """Something that an extension says."""

        content: str

    recording = Recording(says("ok"))
    messages = [UserMessage(content="inject"), Custom(content="from afar")]

    assert await recording.prompt(messages) == ORDERS["a message of the application's own"]


async def test_steering_and_follow_ups_are_emitted_as_recorded() -> None:
    recording = Recording(
        Reply(blocks=(*says("one two").blocks, call("bash"))),
        says("A"),
        says("B"),
        says("C"),
        tools=[odd("bash", shows(3))],
    )
    recording.declare()

    async def queue() -> None:
        await recording.agent.steer("steered A")
        await recording.agent.steer("steered B")
        await recording.agent.follow_up("fu C")

    recording.once(MessageUpdate, queue)

    assert await recording.prompt() == ORDERS["tools, steering and a follow-up"]


async def test_all_steering_in_one_turn_is_emitted_as_recorded() -> None:
    go_on = asyncio.Event()

    async def wait(arguments: Json, ctx: ToolContext) -> str:
        ctx.update(ToolResult())
        await go_on.wait()
        return "done"

    recording = Recording(calls("bash"), says("ok"), tools=[odd("bash", wait)])
    recording.declare()

    async def queue() -> None:
        await recording.agent.steer("S1")
        await recording.agent.steer("S2")
        recording.agent.inbox.steering_mode = "all"
        go_on.set()

    recording.once(ToolExecutionUpdate, queue)

    assert await recording.prompt() == ORDERS["all steering in one turn"]


async def test_an_abort_while_streaming_is_emitted_as_recorded() -> None:
    recording = Recording(says("one two three"))

    async def abort() -> None:
        await recording.agent.follow_up("queued during abort")
        recording.agent.abort()

    recording.once(MessageUpdate, abort)

    assert await recording.prompt() == ORDERS["an abort while streaming"]
    assert len(recording.agent.inbox.follow_ups) == 1


async def test_an_abort_during_tools_is_emitted_as_recorded() -> None:
    updates = 0

    async def wait(arguments: Json, ctx: ToolContext) -> str:
        for _ in range(2):
            ctx.update(ToolResult())
            await asyncio.sleep(0)
        await asyncio.Event().wait()
        return "never"

    def abort(event: AgentEvent) -> None:
        nonlocal updates
        updates += isinstance(event, ToolExecutionUpdate)
        if updates == 4:
            recording.agent.abort()

    batch = Reply(blocks=(*says("so").blocks, call("bash", id="A"), call("bash", id="B")))
    recording = Recording(batch, tools=[odd("bash", wait)])
    recording.agent.subscribe(abort)

    assert await recording.prompt() == ORDERS["an abort during tools"]


async def test_a_tool_that_ends_the_run_is_emitted_as_recorded() -> None:
    async def end(arguments: Json, ctx: ToolContext) -> ToolResult:
        ctx.update(ToolResult.of("half"))
        return ToolResult.of("t", terminate=True)

    recording = Recording(calls("spy"), tools=[odd("spy", end)])
    recording.declare()

    assert await recording.prompt() == ORDERS["a tool that ends the run"]


async def test_calls_that_cannot_run_are_emitted_as_recorded() -> None:
    batch = Reply(
        blocks=(
            call("nope", id="A"),
            call("peek", id="B"),
            call("peek", id="C", path="missing.txt"),
            call("peek", id="D"),
        )
    )
    recording = Recording(batch, says("ok"), tools=[peek])
    recording.declare()

    assert await recording.prompt() == ORDERS["calls that cannot run"]


async def test_calls_that_hooks_refuse_and_change_are_emitted_as_recorded() -> None:
    class Hooks(Policy):
        async def before_tool(self, call: ToolCall) -> ToolCall:
            match call.id:
                case "A" | "B":
                    raise ToolRefused("not allowed here")
                case "D":
                    raise RuntimeError("handler exploded")
                case _:
                    return replace(call, arguments={"changed": True})

        async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
            return replace(result, is_error=True) if call.id == "E" else result

    async def run(arguments: Json, ctx: ToolContext) -> str:
        ctx.update(ToolResult())
        await asyncio.sleep(0)
        ctx.update(ToolResult.of("out"))
        return "out"

    batch = Reply(blocks=tuple(call("bash", id=id) for id in "ABCDE"))
    recording = Recording(batch, says("ok"), tools=[odd("bash", run)])
    recording.declare()
    recording.policies(Hooks())

    assert await recording.prompt() == ORDERS["calls that hooks refuse and change"]


DOWN = ProviderUnavailable("503: overloaded")


async def test_a_retry_is_emitted_as_recorded() -> None:
    recording = Recording(DOWN, says("ok"))
    recording.agent.system_prompt = "Be brief."
    recording.policies(Retry(recording.log, recording.published.append))

    assert await recording.prompt() == ORDERS["a retry"]
    assert recording.log.entries == [FORGET]


async def test_a_retry_after_half_an_answer_is_emitted_as_recorded() -> None:
    half = replace(says("half"), error="Stream ended without finish_reason")
    recording = Recording(half, says("ok"))
    always = Retry(recording.log, recording.published.append, worth_it=lambda _: True)
    recording.policies(always)

    assert await recording.prompt() == ORDERS["a retry after half an answer"]


async def test_a_retry_that_is_cancelled_is_emitted_as_recorded() -> None:
    waits = asyncio.Event()
    recording = Recording(DOWN, DOWN, says("never"))
    recording.policies(Retry(recording.log, recording.published.append, waits=waits))
    running = asyncio.create_task(recording.prompt())
    await waits.wait()

    recording.agent.abort()

    assert await running == ORDERS["a retry that is cancelled"]


async def test_a_failure_is_emitted_as_recorded() -> None:
    recording = Recording(replace(says("half"), error="Provider finish_reason: content_filter"))
    recording.policies(Retry(recording.log, recording.published.append))

    assert await recording.prompt() == ORDERS["a failure"]


async def test_an_overflow_is_emitted_as_recorded() -> None:
    recording = Recording(ContextOverflow("400: too long"), says("ok"))
    publish = recording.published.append
    recording.policies(Compaction(publish), Retry(recording.log, publish))

    assert await recording.prompt() == ORDERS["an overflow"]


async def test_a_compaction_at_the_threshold_is_emitted_as_recorded() -> None:
    recording = Recording(says("ok"))
    recording.policies(Compaction(recording.published.append, little_room=True))

    assert await recording.prompt() == ORDERS["a compaction at the threshold"]


async def test_a_truncated_answer_is_emitted_as_recorded() -> None:
    recording = Recording(replace(says("cut"), stop_reason="length"))
    recording.policies(Drafting("settle", FORGET))

    assert await recording.prompt() == ORDERS["an answer that is cut off"]


@pytest.mark.parametrize(
    ("scene", "policy"),
    [
        (
            "drafts at the end of a turn",
            Drafting("turn", {"type": "custom_message"}, {"type": "custom"}, again=True),
        ),
        ("drafts before settling", Drafting("settle", {"type": "custom_message"}, again=True)),
    ],
)
async def test_drafts_are_emitted_as_recorded(scene: str, policy: Policy) -> None:
    recording = Recording(says("one"), says("two"))
    recording.policies(policy)

    assert await recording.prompt() == ORDERS[scene]


def test_every_recorded_scene_is_played_here() -> None:
    played = Path(__file__).read_text("utf-8")

    assert [scene for scene in ORDERS if f'"{scene}"' not in played] == []
