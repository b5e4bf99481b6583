"""Acts that wait for the agent's rest."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.agent.events import TurnEnd
from pi.testing import says
from tests.coding.runtime.stage import Stage


async def test_an_act_from_inside_a_run_comes_after_it_and_before_the_next(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"), says("b"))
    session = await stage.open()
    waiting = session.prompts._when_idle
    order: list[str] = []

    async def act() -> None:
        await asyncio.sleep(0)
        order.append("act")

    def hear(event: object) -> None:
        order.append(type(event).__name__)
        if isinstance(event, TurnEnd) and "act" not in order:
            waiting.add(act)

    session.subscribe(hear)
    await session.prompts.prompt("one")
    await session.prompts.prompt("two")
    await session.close()

    assert order.index("act") > order.index("AgentSettled")
    starts = [at for at, name in enumerate(order) if name == "AgentStart"]
    assert order.index("act") < starts[1]


async def test_one_that_fails_does_not_keep_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(tmp_path)
    session = await stage.open()
    waiting = session.prompts._when_idle
    done: list[str] = []

    async def fails() -> None:
        raise ValueError("no")

    async def works() -> None:
        done.append("yes")

    waiting.add(fails)
    waiting.add(works)
    await waiting.done()
    await session.close()

    assert done == ["yes"]
    assert "what waited for the agent's rest failed" in caplog.text


async def test_what_waits_is_given_up_with_the_session(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    session = await stage.open()
    never = asyncio.Event()

    async def act() -> None:
        await never.wait()

    session.prompts._when_idle.add(act)
    await asyncio.sleep(0)
    await session.close()
