"""The beginning, the end and the abort of a compaction are emitted."""

from __future__ import annotations

import asyncio

import pytest

from pi.agent.compaction.errors import CompactionFailed
from pi.coding.compaction.events import CompactionEnd, SessionCompactingEvent
from pi.testing import says
from tests.coding.compaction.compaction_fixture import CompactionFixture, always
from tests.coding.compaction.test_execution import MANUAL, fixture_with


@pytest.mark.behaviour("escape-stops-compaction")
async def test_an_abort_ends_a_compaction_and_stores_nothing() -> None:
    fixture = await fixture_with(always)
    started, never = asyncio.Event(), asyncio.Event()

    async def hold(question: SessionCompactingEvent) -> None:
        started.set()
        await never.wait()

    fixture.bus.subscribe(SessionCompactingEvent, hold)
    before = fixture.kinds
    work = asyncio.create_task(fixture.compactor.compact(MANUAL))
    await started.wait()
    with pytest.raises(CompactionFailed, match="Another compaction"):
        await fixture.compactor.compact(MANUAL)
    fixture.compactor.abort()
    with pytest.raises(CompactionFailed, match="cancelled"):
        await work

    assert (fixture.kinds, fixture.compactor.busy) == (before, False)
    assert fixture.events(CompactionEnd) == [CompactionEnd(reason="manual", aborted=True)]


async def test_nothing_to_compact_is_said_in_the_words_of_the_protocol() -> None:
    fixture = CompactionFixture(says("a"))
    await fixture.agent.prompt("hi")
    with pytest.raises(CompactionFailed, match="Nothing to compact"):
        await fixture.compactor.compact(MANUAL)

    assert fixture.events(CompactionEnd)[0].error_message == (
        "Compaction failed: Nothing to compact (session too small)"
    )
