"""Totals of a session include what was compacted away and every attempt."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.messages import Usage
from pi.base.records import replace
from pi.testing import says
from tests.coding.runtime.session_fixture import SessionFixture


@pytest.mark.behaviour("totals-include-compacted")
async def test_usage_of_compacted_messages_and_of_summaries_is_counted(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"), says("Notes."), says("Notes."))
    fixture.write(".pi/agent/settings.json", '{"compaction": {"keepRecentTokens": 10}}')
    session = await fixture.open()
    for _ in range(2):
        await session.prompts.prompt("word " * 4000)
    before = session.info.stats().tokens.total
    await session.compaction.compact()
    after = session.info.stats().tokens.total
    await session.close()

    request_count = len(fixture.provider.requests)
    assert (before, after) == (2 * 15, request_count * 15)


@pytest.mark.behaviour("retried-usage-counts")
async def test_the_usage_of_an_attempt_that_failed_is_counted_too(tmp_path: Path) -> None:
    cut = replace(says("half"), usage=Usage(input=7, output=1), error="503: gone")
    fixture = SessionFixture(tmp_path, cut, says("whole"))
    session = await fixture.open()
    await session.prompts.prompt("hi")
    await session.prompts.prompt("again")
    tokens = session.info.stats().tokens
    await session.close()

    assert (tokens.input, tokens.output) == (17, 6)
