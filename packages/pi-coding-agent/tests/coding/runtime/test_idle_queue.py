"""Actions that wait until the agent is idle."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.agent.events import AgentSettled, AgentStart, TurnEnd
from pi.testing import says
from tests.coding.runtime.session_fixture import SessionFixture


class Noted:
    """An action that records its execution."""

    def __init__(self, order: list[str]) -> None:
        self._order = order
        self.done = asyncio.Event()

    async def __call__(self) -> None:
        self._order.append("act")
        self.done.set()


async def test_an_action_queued_during_a_run_is_executed_after_it_and_before_the_next(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"))
    session = await fixture.open()
    waiting = session.runs.when_idle
    order: list[str] = []

    async def act() -> None:
        await asyncio.sleep(0)
        order.append("act")

    def listen(event: object) -> None:
        order.append(type(event).__name__)
        if isinstance(event, TurnEnd) and "act" not in order:
            waiting.add(act)

    session.subscribe(listen)
    await session.prompts.prompt("one")
    await session.prompts.prompt("two")
    await session.close()

    assert order.index("act") > order.index("AgentSettled")
    starts = [index for index, name in enumerate(order) if name == "AgentStart"]
    assert order.index("act") < starts[1]


async def test_a_prompt_runs_before_an_action_queued_without_before_next_prompt(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"))
    session = await fixture.open()
    waiting = session.runs.when_idle
    order: list[str] = []
    act = Noted(order)

    def listen(event: object) -> None:
        if isinstance(event, AgentStart | AgentSettled):
            order.append(type(event).__name__)

    session.subscribe(listen)
    waiting.add(act, before_next_prompt=False)
    await session.prompts.prompt("one")
    await act.done.wait()
    await session.close()

    assert order == ["AgentStart", "AgentSettled", "act"]


async def test_a_prompt_waits_for_a_queued_action_that_has_started(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    session = await fixture.open()
    waiting = session.runs.when_idle
    begun, end = asyncio.Event(), asyncio.Event()
    order: list[str] = []

    async def act() -> None:
        begun.set()
        await end.wait()
        order.append("act")

    session.subscribe(lambda event: order.append("run") if isinstance(event, AgentStart) else None)
    waiting.add(act, before_next_prompt=False)
    await begun.wait()
    prompt = asyncio.create_task(session.prompts.prompt("one"))
    await asyncio.sleep(0)
    end.set()
    await prompt
    await session.close()

    assert order == ["act", "run"]


async def test_a_failing_queued_action_is_logged_and_the_next_one_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    waiting = session.runs.when_idle
    done: list[str] = []

    async def fails() -> None:
        raise ValueError("no")

    async def works() -> None:
        done.append("yes")

    waiting.add(fails)
    waiting.add(works)
    async with waiting.hold():
        pass
    await session.close()

    assert done == ["yes"]
    assert "an action queued for the idle agent failed" in caplog.text


async def test_closing_a_session_does_not_wait_for_queued_actions(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    never = asyncio.Event()

    async def act() -> None:
        await never.wait()

    session.runs.when_idle.add(act)
    await asyncio.sleep(0)
    await session.close()


async def test_no_queued_action_runs_between_an_accepted_prompt_and_its_run(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    session = await fixture.open()
    waiting = session.runs.when_idle
    order: list[str] = []
    act = Noted(order)

    async def accepted(disposition: str) -> None:
        waiting.add(act)
        for _ in range(10):
            await asyncio.sleep(0)
        order.append("accepted")

    await session.prompts.prompt("one", accepted=accepted)
    await act.done.wait()
    await session.close()

    assert order == ["accepted", "act"]
