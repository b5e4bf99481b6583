"""An abort at any point of a run, not only in its tools."""

from __future__ import annotations

import asyncio

import pytest

from pi.agent.events import AgentEnd, AgentEvent, ToolExecutionEnd
from pi.agent.policy import Boundary, Next, Policy
from pi.ai.messages import AssistantMessage, Image, Text, UserMessage
from pi.ai.providers.faux import FAUX_MODEL
from pi.ai.testing import Reply, call, says
from pi.ai.wire_support.handoff import prepare, same_id
from tests.agent.agents import AgentFixture, tasks_left
from tests.agent.event_grammar import EventGrammar
from tests.agent.waiting_tool import LAST_TURN, WaitingTool, abort_when, sleeps

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
    sleeper = WaitingTool()
    sleeper.released.set()
    fixture = AgentFixture(sleeps("A"), says("done"), says("next"), tools=[sleeper.tool])
    fixture.on(point, fixture.agent.abort)

    await fixture.agent.prompt("go")

    assert fixture.emitted[-2:] == ["agent_end", "agent_settled"]
    EventGrammar().follow(fixture.events)
    assert await tasks_left() == set()
    shown = prepare(fixture.agent.state.messages, FAUX_MODEL, same_id)
    assert sum(len(m.tool_calls) for m in shown if isinstance(m, AssistantMessage)) == sum(
        type(m).__name__ == "ToolResultMessage" for m in shown
    )
    fixture.provider.add(says("still here"))
    await fixture.agent.prompt("are you there?")
    assert fixture.roles[-1] == "assistant:stop"


async def test_aborting_twice_or_when_idle_changes_nothing() -> None:
    fixture = AgentFixture(says("one two three"), says("fine"))
    fixture.agent.abort()

    def abort_twice() -> None:
        fixture.agent.abort()
        fixture.agent.abort()

    fixture.on("message_start assistant:pending", abort_twice)
    await fixture.agent.prompt("go")
    fixture.agent.abort()
    await fixture.agent.prompt("go on")

    assert fixture.roles == ["user", "assistant:aborted", "user", "assistant:stop"]


async def test_an_abort_before_the_first_step_keeps_the_prompt() -> None:
    fixture = AgentFixture(says("never"))
    running = asyncio.create_task(fixture.agent.prompt("go"))
    await asyncio.sleep(0)  # the prompt was taken, and nothing has happened yet

    assert (fixture.agent.state.is_streaming, fixture.emitted) == (True, [])
    fixture.agent.abort()
    await running

    assert fixture.provider.requests == []
    assert fixture.roles == ["user", "assistant:error"]


async def test_an_abort_cancels_a_preparation_between_two_turns() -> None:
    begun = asyncio.Event()

    async def forever() -> None:
        begun.set()
        await asyncio.Event().wait()

    class Prepares(Policy):
        async def at_boundary(self, at: Boundary) -> Next:
            return Next(action="again", prepare=forever) if at.results else at.next

    sleeper = WaitingTool()
    sleeper.released.set()
    fixture = AgentFixture(sleeps("A"), says("never"), tools=[sleeper.tool], policies=[Prepares()])

    await abort_when(begun, fixture)

    assert fixture.emitted[-7:] == LAST_TURN


async def test_no_preparation_runs_after_an_abort() -> None:
    prepared: list[str] = []

    async def prepare_it() -> None:
        prepared.append("unexpected")

    class Prepares(Policy):
        async def at_boundary(self, at: Boundary) -> Next:
            return Next(action="again", prepare=prepare_it) if at.kind == "turn" else at.next

    sleeper = WaitingTool()
    fixture = AgentFixture(sleeps("A"), tools=[sleeper.tool], policies=[Prepares()])

    await abort_when(sleeper.begun, fixture)

    assert prepared == []
    assert fixture.emitted.count("agent_start") == 1


@pytest.mark.behaviour("steering-after-the-batch")
@pytest.mark.parametrize("point", ["tool_execution_start A", "turn_end", "turn_start"])
async def test_queued_messages_survive_an_abort_with_their_images(point: str) -> None:
    picture = Image(data="aGk=", mime_type="image/png")
    sleeper = WaitingTool()
    sleeper.released.set()
    fixture = AgentFixture(sleeps("A"), says("answered"), says("followed"), tools=[sleeper.tool])
    await fixture.agent.follow_up("later")

    async def steer_and_abort() -> None:
        await fixture.agent.steer("look at this", [picture])
        fixture.agent.abort()

    fixture.on("message_end user", lambda: fixture.on(point, steer_and_abort))
    await fixture.agent.prompt("go")
    roles = fixture.roles

    assert roles.count("user") == 1
    assert len(fixture.agent.inbox.steering) == len(fixture.agent.inbox.follow_ups) == 1
    await fixture.agent.prompt("again")
    user_messages = [m for m in fixture.agent.state.messages if isinstance(m, UserMessage)]
    assert user_messages[2].content == (Text(text="look at this"), picture)


async def test_a_partially_streamed_call_is_never_sent_to_the_model() -> None:
    fixture = AgentFixture(
        Reply(blocks=(Text(text="so"), call("sleep", id="A"), Text(text="and on and on"))),
        says("fine"),
        tools=[WaitingTool().tool],
    )

    def abort(event: AgentEvent) -> None:
        kind = getattr(event, "assistant_message_event", None)
        if type(kind).__name__ == "ToolCallStart":
            fixture.agent.abort()

    fixture.agent.subscribe(abort)
    await fixture.agent.prompt("go")
    await fixture.agent.prompt("again")

    assert fixture.results == []
    shown = prepare(fixture.provider.requests[-1].messages, FAUX_MODEL, same_id)
    assert [type(message).__name__ for message in shown] == [
        "SystemMessage",
        "UserMessage",
        "UserMessage",
    ]


async def test_an_aborted_run_never_emits_that_it_will_be_retried() -> None:
    class Eager(Policy):
        async def at_boundary(self, at: Boundary) -> Next:
            return Next(action="again", new_run=True)

    fixture = AgentFixture(says("one two"), policies=[Eager()])
    fixture.on("message_start assistant:pending", fixture.agent.abort)

    await fixture.agent.prompt("go")

    ends = [event for event in fixture.events if isinstance(event, AgentEnd)]
    assert [end.will_retry for end in ends] == [False]


async def test_the_end_of_a_tool_is_emitted_before_its_result_is_kept() -> None:
    kept: list[int] = []
    sleeper = WaitingTool()
    fixture = AgentFixture(sleeps("A", "B"), tools=[sleeper.tool])

    def count(event: AgentEvent) -> None:
        if isinstance(event, ToolExecutionEnd):
            kept.append(len(fixture.results))

    fixture.agent.subscribe(count)
    await abort_when(sleeper.begun, fixture)

    assert kept == [0, 0]
