"""An agent has one run at a time and is idle between runs."""

from __future__ import annotations

import asyncio

import pytest

from pi.agent.agent import AgentState
from pi.agent.conversation import MemoryConversation
from pi.agent.errors import AgentBusy
from pi.agent.tools.define import tool
from pi.ai.errors import ProviderError
from pi.ai.messages import UserMessage
from pi.ai.providers.faux import FAUX_MODEL
from pi.ai.testing import calls, says
from tests.agent.agents import AgentFixture, tasks_left


class Hold:
    """Holds a run at an event until the test lets it go on."""

    def __init__(
        self, fixture: AgentFixture, point: str = "message_start assistant:pending"
    ) -> None:
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()
        fixture.on(point, self._wait)

    async def _wait(self) -> None:
        self.reached.set()
        await self.go_on.wait()


@pytest.mark.behaviour("prompt-while-running-fails")
async def test_a_second_prompt_is_refused_while_one_is_answered() -> None:
    fixture = AgentFixture(says("one"), says("two"))
    hold = Hold(fixture)
    running = asyncio.create_task(fixture.agent.prompt("first"))
    await hold.reached.wait()

    with pytest.raises(AgentBusy) as refused:
        await fixture.agent.prompt("second")
    with pytest.raises(AgentBusy):
        await fixture.agent.continue_()
    hold.go_on.set()
    await running

    assert "steer() or follow_up()" in refused.value.explain()
    assert fixture.roles == ["user", "assistant:stop"]
    await fixture.agent.prompt("third")
    assert fixture.roles == ["user", "assistant:stop"] * 2


@pytest.mark.behaviour("running-agent-is-not-reset")
async def test_a_running_agent_is_not_reset_and_keeps_its_conversation() -> None:
    fixture = AgentFixture(says("one"))
    hold = Hold(fixture)
    running = asyncio.create_task(fixture.agent.prompt("first"))
    await hold.reached.wait()
    kept = fixture.agent.conversation

    with pytest.raises(AgentBusy):
        fixture.agent.reset()
    with pytest.raises(AgentBusy):
        fixture.agent.reset(MemoryConversation())
    hold.go_on.set()
    await running

    assert fixture.agent.conversation is kept


async def test_a_reset_clears_conversation_queues_and_error_but_keeps_prompt_and_tools() -> None:
    fixture = AgentFixture(ProviderError("no"), says("ok"), system_prompt="Be brief.")
    await fixture.agent.prompt("first")
    await fixture.agent.steer("later")
    other = MemoryConversation(UserMessage(content="old"))

    fixture.agent.reset()

    assert fixture.agent.state == AgentState(
        system_prompt="Be brief.",
        model=FAUX_MODEL,
        thinking_level="off",
        tools=(),
        messages=(),
        is_streaming=False,
        streaming_message=None,
        pending_tool_calls=frozenset(),
        error_message=None,
    )
    assert not fixture.agent.inbox
    fixture.agent.reset(other)
    await fixture.agent.prompt("new")
    assert list(other.messages()) == list(fixture.agent.state.messages)
    assert fixture.roles == ["user", "system", "user", "assistant:stop"]


async def test_an_empty_conversation_is_used_and_not_replaced() -> None:
    class Countable(MemoryConversation):
        def __len__(self) -> int:
            return len(self.messages())

    log = Countable()
    fixture = AgentFixture(says("ok"), conversation=log)

    await fixture.agent.prompt("go")

    assert len(log) == 2


@pytest.mark.behaviour("idle-comes-last")
@pytest.mark.parametrize("point", ["agent_end", "agent_settled"])
async def test_an_agent_is_idle_only_after_every_listener_has_handled_the_end(point: str) -> None:
    fixture = AgentFixture(says("one"))
    names: list[str] = []
    hold = Hold(fixture, point)
    fixture.agent.subscribe(lambda event: names.append(type(event).__name__))
    running = asyncio.create_task(fixture.agent.prompt("first"))
    await hold.reached.wait()

    idle = asyncio.create_task(fixture.agent.wait_for_idle())
    await asyncio.sleep(0)
    assert (idle.done(), fixture.agent.state.is_streaming) == (False, True)
    hold.go_on.set()
    await idle

    assert names[-1] == "AgentSettled"
    assert not fixture.agent.state.is_streaming
    await running


async def test_waiting_for_an_idle_agent_returns_at_once() -> None:
    await AgentFixture().agent.wait_for_idle()


async def test_the_run_ends_in_order_when_its_caller_is_cancelled() -> None:
    fixture = AgentFixture(says("word " * 500), says("fine"))
    begun = asyncio.Event()
    fixture.on("message_start assistant:pending", begun.set)
    running = asyncio.create_task(fixture.agent.prompt("first"))
    await begun.wait()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert fixture.emitted[-2:] == ["agent_end", "agent_settled"]
    assert fixture.roles == ["user", "assistant:aborted"]
    assert await tasks_left() == set()
    await fixture.agent.prompt("again")
    assert fixture.roles[-1] == "assistant:stop"


async def test_a_run_whose_own_task_is_cancelled_leaves_no_tasks() -> None:
    begun = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    fixture = AgentFixture(calls("wait"), tools=[wait])
    running = asyncio.create_task(fixture.agent.prompt("go"))
    await begun.wait()

    [run] = [task for task in asyncio.all_tasks() if task.get_name() == "agent run"]
    run.cancel()  # as the end of the program does
    with pytest.raises(asyncio.CancelledError):
        await running

    assert await tasks_left() == set()
    assert not fixture.agent.state.is_streaming
