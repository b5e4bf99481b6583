"""The beginning, the end and the abort of a compaction are emitted."""

from __future__ import annotations

import asyncio

import pytest

from pi.agent.compaction.errors import CompactionFailed
from pi.coding.compaction.events import CompactionEnd, SessionCompactingEvent
from pi.testing import says
from tests.coding.compaction.stage import Stage, always
from tests.coding.compaction.test_carrying_out import MANUAL, stage_with


@pytest.mark.behaviour("escape-stops-compaction")
async def test_an_abort_ends_a_compaction_and_stores_nothing() -> None:
    stage = await stage_with(always)
    started, never = asyncio.Event(), asyncio.Event()

    async def hold(question: SessionCompactingEvent) -> None:
        started.set()
        await never.wait()

    stage.bus.subscribe(SessionCompactingEvent, hold)
    before = stage.kinds
    work = asyncio.create_task(stage.compactor.compact(MANUAL))
    await started.wait()
    with pytest.raises(CompactionFailed, match="Another compaction"):
        await stage.compactor.compact(MANUAL)
    stage.compactor.abort()
    with pytest.raises(CompactionFailed, match="cancelled"):
        await work

    assert (stage.kinds, stage.compactor.busy) == (before, False)
    assert stage.events(CompactionEnd) == [CompactionEnd(reason="manual", aborted=True)]


async def test_nothing_to_compact_is_said_in_the_words_of_the_protocol() -> None:
    stage = Stage(says("a"))
    await stage.agent.prompt("hi")
    with pytest.raises(CompactionFailed, match="Nothing to compact"):
        await stage.compactor.compact(MANUAL)

    assert stage.events(CompactionEnd)[0].error_message == (
        "Compaction failed: Nothing to compact (session too small)"
    )
