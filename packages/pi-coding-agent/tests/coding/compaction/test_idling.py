"""Compaction of an idle session."""

from __future__ import annotations

import asyncio

import pytest

from pi.base.records import replace
from pi.coding.compaction.automatic import IdleCompaction
from pi.coding.compaction.events import CompactionEnd
from pi.testing import says
from tests.coding.compaction.compaction_fixture import OPTIONS, CompactionFixture, always, answers

IDLE = replace(
    OPTIONS,
    idle_enabled=True,
    idle_threshold_tokens=1_000,
    idle_timeout_seconds=300,
    reserve_tokens=100,
)


async def fixture(**options: object) -> CompactionFixture:
    it = CompactionFixture(
        says("a"), answers("b", 4_000), summaries=[always], options=replace(IDLE, **options)
    )
    for _ in range(2):
        await it.agent.prompt("word " * 1_500)
    return it


@pytest.mark.behaviour("clear-is-a-hard-boundary")
async def test_idle_compaction_waits_for_the_timeout_and_for_background_work() -> None:
    it = await fixture()
    jobs = ["one"]
    work = asyncio.create_task(
        IdleCompaction(it.compactor, it.around, busy=lambda: bool(jobs)).compact_when_idle()
    )
    await it.clock.advance(300)
    assert it.events(CompactionEnd) == []
    jobs.clear()
    await it.clock.advance(300)

    assert await work
    assert it.events(CompactionEnd)[0].reason == "idle"


async def test_idle_compaction_skips_a_small_conversation() -> None:
    it = await fixture(idle_threshold_tokens=200_000)
    work = asyncio.create_task(
        IdleCompaction(it.compactor, it.around, busy=lambda: False).compact_when_idle()
    )
    await it.clock.advance(300)

    assert not await work


async def test_idle_compaction_is_off_unless_enabled() -> None:
    it = await fixture(idle_enabled=False)

    assert not await IdleCompaction(it.compactor, it.around, busy=lambda: False).compact_when_idle()
