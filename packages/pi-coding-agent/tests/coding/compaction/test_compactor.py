"""The beginning, the end and the abort of a compaction are emitted."""

from __future__ import annotations

import asyncio
import threading
from importlib import import_module
from typing import Any

import pytest

from pi.agent.compaction.errors import CompactionFailed
from pi.ai.errors import ContextOverflow
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


async def test_nothing_to_compact_is_reported_with_the_message_of_the_protocol() -> None:
    fixture = CompactionFixture(says("a"))
    await fixture.agent.prompt("hi")
    with pytest.raises(CompactionFailed, match="Nothing to compact"):
        await fixture.compactor.compact(MANUAL)

    assert fixture.events(CompactionEnd)[0].error_message == (
        "Compaction failed: Nothing to compact (session too small)"
    )


async def test_a_conversation_that_no_model_can_summarise_is_reported_with_a_hint() -> None:
    overflow = ContextOverflow("prompt is too long: 300000 tokens > 200000 maximum", status=400)
    fixture = await fixture_with(*[overflow] * 20)

    with pytest.raises(CompactionFailed) as failed:
        await fixture.compactor.compact(MANUAL)

    assert failed.value.code == "too_large"
    assert failed.value.hint == "Choose a model with a larger context window."
    assert str(fixture.events(CompactionEnd)[0].error_message).endswith(failed.value.hint)


@pytest.mark.parametrize(
    "name",
    [
        "pi.coding.compaction.measuring.branch_items",
        "pi.coding.compaction.execution.prepare",
        "pi.agent.compaction.compact.serialise",
        "pi.agent.compaction.compact.fit_carry_over",
        "pi.agent.compaction.summarise.windows",
    ],
)
async def test_compaction_work_runs_outside_the_thread_of_the_event_loop(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixture = await fixture_with(always)
    module, _, function = name.rpartition(".")
    work, threads = getattr(import_module(module), function), list[threading.Thread]()

    def recorded(*arguments: Any, **options: Any) -> Any:
        threads.append(threading.current_thread())
        return work(*arguments, **options)

    monkeypatch.setattr(name, recorded)
    monkeypatch.setattr("pi.base.tasks.LARGE", 0)

    await fixture.compactor.compact(MANUAL)

    assert threads[0] is not threading.main_thread()
