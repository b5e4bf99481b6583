from __future__ import annotations

import asyncio

import pytest

from pi.base.errors import PiError
from pi.coding.runtime.session.prompts import PromptGate


async def test_prompts_wait_until_the_gate_is_open() -> None:
    gate = PromptGate()
    await gate.passed()
    with gate.closed():
        with gate.closed():
            waiting = asyncio.create_task(gate.passed())
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not waiting.done()

    await waiting


async def test_aborting_fails_waiting_prompts_and_later_ones_may_wait_again() -> None:
    gate = PromptGate()
    gate.abort_waiting()  # no prompt is waiting
    with gate.closed():
        first = asyncio.create_task(gate.passed())
        await asyncio.sleep(0)
        gate.abort_waiting()
        second = asyncio.create_task(gate.passed())
        with pytest.raises(PiError, match="The prompt was aborted before its run began"):
            await first

    await second
