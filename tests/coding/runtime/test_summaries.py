"""Summaries are asked for with the session's own thinking and a cache identity of their own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.ai.errors import ProviderUnavailable
from pi.testing import says
from tests.coding.runtime.stage import Stage

DOWN = ProviderUnavailable("503: overloaded", status=503)


@pytest.mark.trap(232)
@pytest.mark.trap(238)
async def test_a_summary_has_its_own_identity_and_is_asked_for_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"), says("b"), DOWN, says("Notes."), says("Notes."))
    stage.write(".pi/agent/settings.json", '{"compaction": {"keepRecentTokens": 10}}')
    session = await stage.open(thinking="low")
    for _ in range(2):
        await session.prompts.prompt("word " * 4000)
    stage.told.clear()
    work = asyncio.create_task(session.compaction.compact())
    await stage.clock.advance(2)
    await work
    await session.close()

    asked = stage.provider.requests[-1].options
    assert asked.session_id == f"{session.facts.header.id}-compaction"
    assert asked.reasoning == "low"
    assert stage.order == [
        "compaction_start",
        "summarization_retry_scheduled",
        "summarization_retry_attempt_start",
        "summarization_retry_finished",
        "compaction_end",
    ]
