from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pi.agent.agent import Agent
from pi.agent.errors import WouldDeadlock
from pi.agent.policy import Boundary, Next, Policy, Request
from pi.agent.tools.define import tool
from pi.ai.testing import calls, says
from tests.agent.agents import AgentFixture

Action = Callable[[Agent], Any]
ACTIONS: list[Action] = [
    lambda agent: agent.prompt("inner"),
    lambda agent: agent.continue_(),
    lambda agent: agent.wait_for_idle(),
]


class ActingPolicy(Policy):
    """Performs an action in a hook that would wait for its own run."""

    def __init__(self, hook: str, action: Action) -> None:
        self._hook = hook
        self._action = action
        self.agent: Agent | None = None
        self.refused = 0

    async def act(self) -> None:
        assert self.agent is not None
        try:
            await self._action(self.agent)
        except WouldDeadlock:
            self.refused += 1

    async def before_request(self, request: Request) -> Request:
        if self._hook == "before_request":
            await self.act()
        return request

    async def at_boundary(self, at: Boundary) -> Next:
        if self._hook == at.kind:
            await self.act()
        if self._hook == "prepare" and at.kind == "prompt":
            return Next(prepare=self.act)
        return at.next


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("hook", ["before_request", "prompt", "turn", "settle", "prepare"])
async def test_waiting_for_the_own_run_is_rejected_in_hooks(hook: str, action: Action) -> None:
    policy = ActingPolicy(hook, action)
    fixture = AgentFixture(says("one"), policies=[policy])
    policy.agent = fixture.agent

    await asyncio.wait_for(fixture.agent.prompt("go"), 30)

    assert policy.refused == 1


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("where", ["listener", "async tool", "sync tool"])
async def test_waiting_for_the_own_run_is_rejected_in_listeners_and_tools(
    where: str, action: Action
) -> None:
    policy = ActingPolicy("", action)
    loop = asyncio.get_running_loop()

    @tool
    async def waits() -> str:
        """Want it."""
        if where == "async tool":
            await policy.act()
        return "ok"

    @tool
    def blocks() -> str:
        """Want it from a thread."""
        if where == "sync tool":
            asyncio.run_coroutine_threadsafe(policy.act(), loop).result(5)
        return "ok"

    fixture = AgentFixture(calls("waits"), calls("blocks"), says("done"), tools=[waits, blocks])
    policy.agent = fixture.agent
    if where == "listener":
        fixture.on("turn_end", policy.act)

    await asyncio.wait_for(fixture.agent.prompt("go"), 30)

    assert policy.refused == 1


async def test_resetting_the_agent_from_inside_its_run_is_rejected() -> None:
    fixture = AgentFixture(says("one"))
    refused: list[str] = []

    def reset() -> None:
        with pytest.raises(WouldDeadlock) as problem:
            fixture.agent.reset()
        refused.append(problem.value.explain())

    fixture.on("turn_end", reset)
    await fixture.agent.prompt("go")

    assert refused == [
        "Cannot start work that needs the run to end from inside the run. "
        "Queue a message instead, or do it when the agent is idle."
    ]


async def test_a_nested_agent_cannot_wait_for_the_agent_that_called_it() -> None:
    refused: list[str] = []

    @tool
    async def look_up() -> str:
        """Wait for the outer agent."""
        try:
            await outer.agent.wait_for_idle()
        except WouldDeadlock as problem:
            refused.append(problem.message)
        return "looked up"

    @tool
    async def delegate() -> str:
        """Ask the inner agent."""
        await inner.agent.prompt("help")
        return str(inner.agent.state.messages[-1].text)

    inner = AgentFixture(calls("look_up"), says("helped"), tools=[look_up])
    outer = AgentFixture(calls("delegate"), says("done"), tools=[delegate])

    await asyncio.wait_for(outer.agent.prompt("go"), 30)

    assert outer.texts == ["helped"]
    assert len(refused) == 1


async def test_a_task_that_was_started_inside_a_run_may_prompt_when_it_is_over() -> None:
    fixture = AgentFixture(says("one"), says("two"))
    over = asyncio.Event()
    tasks: list[asyncio.Task[None]] = []

    async def later() -> None:
        await over.wait()
        await fixture.agent.prompt("and then?")

    fixture.on("turn_end", lambda: tasks.append(asyncio.create_task(later())))
    await fixture.agent.prompt("go")
    over.set()
    await asyncio.gather(*tasks)

    assert fixture.roles == ["user", "assistant:stop"] * 2
