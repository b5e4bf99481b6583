"""An agent with the retry policy emits events in the order of the recorded protocol."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from pi.agent.agent import Agent
from pi.agent.policy import Boundary, Next, Policy
from pi.ai.errors import BadRequest, ProviderError, ProviderUnavailable
from pi.ai.messages import AssistantMessage
from pi.ai.providers.faux import FAUX_MODEL, Step
from pi.base.records import replace
from pi.coding.retry import AutoRetryEnd, AutoRetryStart, RetryPolicy, RetrySettings
from pi.testing import FakeClock, ScriptedStream, calls, says

DOWN = ProviderUnavailable("503: overloaded", status=503)


@dataclass
class RetryFixture:
    """An agent, its clock, and everything that was emitted."""

    agent: Agent
    policy: RetryPolicy
    clock: FakeClock
    emitted: list[Any] = field(default_factory=list)
    left_out: list[AssistantMessage] = field(default_factory=list)

    @property
    def retries(self) -> list[Any]:
        return [event for event in self.emitted if isinstance(event, AutoRetryStart | AutoRetryEnd)]

    @property
    def order(self) -> list[str]:
        names = [msgspec.to_builtins(event)["type"] for event in self.emitted]
        return [name for name in names if name not in ("message_update", "message_start")]


def fixture(
    *steps: Step, settings: RetrySettings | None = None, before: Policy | None = None
) -> RetryFixture:
    clock = FakeClock()
    emitted: list[Any] = []
    left_out: list[AssistantMessage] = []

    async def emit(event: Any) -> None:
        emitted.append(event)

    async def leave_out(answer: AssistantMessage) -> None:
        left_out.append(answer)

    policy = RetryPolicy(
        lambda: settings or RetrySettings(), emit=emit, leave_out=leave_out, clock=clock
    )
    policies = [policy] if before is None else [before, policy]
    agent = Agent(ScriptedStream(*steps), model=FAUX_MODEL, policies=policies, clock=clock)
    agent.subscribe(emitted.append)
    return RetryFixture(agent, policy, clock, emitted, left_out)


async def test_a_failed_response_is_retried_in_a_separate_run() -> None:
    it = fixture(DOWN, says("recovered"))
    run = asyncio.create_task(it.agent.prompt("hi"))
    await it.clock.advance(1.999)
    assert it.policy.waiting
    await it.clock.advance(0.001)
    await run

    assert it.order == [
        "agent_start",
        "turn_start",
        "message_end",
        "message_end",
        "turn_end",
        "agent_end",
        "auto_retry_start",
        "agent_start",
        "turn_start",
        "message_end",
        "auto_retry_end",
        "turn_end",
        "agent_end",
        "agent_settled",
    ]
    assert it.retries == [
        AutoRetryStart(attempt=1, max_attempts=3, delay_ms=2000, error_message="503: overloaded"),
        AutoRetryEnd(success=True, attempt=1),
    ]
    assert [answer.error_message for answer in it.left_out] == ["503: overloaded"]


async def test_the_last_failure_is_emitted_when_no_attempt_is_left() -> None:
    it = fixture(DOWN, DOWN, settings=RetrySettings(max_retries=1))
    run = asyncio.create_task(it.agent.prompt("hi"))
    await it.clock.advance(10)
    await run

    assert it.retries[-1] == AutoRetryEnd(success=False, attempt=1, final_error="503: overloaded")


@pytest.mark.behaviour("retry-countdown-is-live")
async def test_the_counter_restarts_after_a_good_answer() -> None:
    it = fixture(DOWN, says("one"), DOWN, says("two"))
    for prompt in ("a", "b"):
        run = asyncio.create_task(it.agent.prompt(prompt))
        await it.clock.advance(2)
        await run

    starts = [event.attempt for event in it.retries if isinstance(event, AutoRetryStart)]
    assert starts == [1, 1]


@pytest.mark.behaviour("one-retry-budget")
async def test_cancelling_a_retry_ends_the_wait_at_once() -> None:
    it = fixture(DOWN)
    run = asyncio.create_task(it.agent.prompt("hi"))
    await it.clock.advance(1)
    await it.policy.cancel()
    await run

    assert it.retries[-1] == AutoRetryEnd(success=False, attempt=1, final_error="Retry cancelled")
    assert it.order[-2:] == ["auto_retry_end", "agent_settled"]
    assert not it.policy.waiting


@pytest.mark.behaviour("failed-retry-ends-retrying")
async def test_an_abort_ends_the_wait_for_a_retry() -> None:
    it = fixture(DOWN)
    run = asyncio.create_task(it.agent.prompt("hi"))
    await it.clock.advance(1)
    it.agent.abort()
    await run

    assert it.retries[-1] == AutoRetryEnd(success=False, attempt=1, final_error="Retry cancelled")
    assert it.order[-1] == "agent_settled"
    assert (it.policy.waiting, it.clock.sleeping) == (False, 0)


async def test_a_permanent_failure_is_not_retried() -> None:
    it = fixture(BadRequest("400: bad param", status=400))
    await it.agent.prompt("hi")

    assert it.retries == []


async def test_a_boundary_claimed_by_another_policy_is_not_retried() -> None:
    class OtherModel(Policy):
        async def at_boundary(self, boundary: Boundary) -> Next:
            if boundary.kind == "turn" and isinstance(boundary.error, ProviderError):
                return replace(boundary.next, action="again")
            return boundary.next

    it = fixture(DOWN, says("from the other one"), before=OtherModel())
    await it.agent.prompt("hi")

    assert it.retries == []


async def test_a_retry_that_calls_tools_counts_as_a_success() -> None:
    it = fixture(DOWN, calls("nothing"), says("done"))
    run = asyncio.create_task(it.agent.prompt("hi"))
    await it.clock.advance(2)
    await run

    assert it.retries[-1] == AutoRetryEnd(success=True, attempt=1)
