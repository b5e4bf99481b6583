"""Summaries are requested with the session's thinking level and their own session ID."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.ai.errors import ProviderUnavailable, RateLimited
from pi.ai.providers.faux import FAUX, FAUX_MODEL, Reply
from pi.ai.request import Call
from pi.base.records import replace
from pi.testing import ScriptedProvider, says
from tests.coding.runtime.session_fixture import SessionFixture

DOWN = ProviderUnavailable("503: overloaded", status=503)


@pytest.mark.behaviour("summary-keeps-the-policy")
@pytest.mark.behaviour("compaction-retries-once")
async def test_a_summary_request_has_its_own_session_id_and_is_retried(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"), DOWN, says("Notes."), says("Notes."))
    fixture.write(".pi/agent/settings.json", '{"compaction": {"keepRecentTokens": 10}}')
    session = await fixture.open(thinking="low")
    for _ in range(2):
        await session.prompts.prompt("word " * 4000)
    fixture.events.clear()
    work = asyncio.create_task(session.compaction.compact())
    await fixture.clock.advance(2)
    await work
    await session.close()

    options = fixture.provider.requests[-1].options
    assert options.session_id == f"{session.entries.log.header.id}-compaction"
    assert options.reasoning == "low"
    assert fixture.order == [
        "compaction_start",
        "summarization_retry_scheduled",
        "summarization_retry_attempt_start",
        "summarization_retry_finished",
        "compaction_end",
    ]


@pytest.mark.parametrize("seconds", [45, 3600])
async def test_a_fallback_model_is_used_instead_of_waiting_for_a_rate_limit(
    tmp_path: Path, seconds: int
) -> None:
    def script(call: Call) -> Reply | RateLimited:
        if call.model.provider == "spare":
            return says("Notes of the spare.")
        if "<conversation>" in str(call.messages):
            return RateLimited("429: slow down", status=429, retry_after=seconds)
        return says("a")

    fixture = SessionFixture(tmp_path, script)
    spare = replace(FAUX_MODEL, provider="spare", id="other")
    spare_provider = ScriptedProvider(script, row=replace(FAUX, id="spare"), models=(spare,))
    fixture.registry.models.register(spare_provider)
    settings = '{"compaction": {"keepRecentTokens": 10, "fallbackModels": ["spare/other"]}}'
    fixture.write(".pi/agent/settings.json", settings)
    session = await fixture.open()
    for _ in range(2):
        await session.prompts.prompt("word " * 4000)
    fixture.events.clear()

    result = await session.compaction.compact()
    await session.close()

    assert result.summary.startswith("Notes of the spare.")
    assert fixture.order == ["compaction_start", "compaction_end"]
    assert len(fixture.provider.requests) == 3  # two answers, and one request for a summary


async def test_without_a_fallback_model_an_allowed_retry_delay_is_waited_for(
    tmp_path: Path,
) -> None:
    limited = RateLimited("429: slow down", status=429, retry_after=45)
    fixture = SessionFixture(
        tmp_path, says("a"), says("b"), limited, says("Notes."), says("Notes.")
    )
    fixture.write(".pi/agent/settings.json", '{"compaction": {"keepRecentTokens": 10}}')
    session = await fixture.open()
    for _ in range(2):
        await session.prompts.prompt("word " * 4000)

    work = asyncio.create_task(session.compaction.compact())
    await fixture.clock.advance(45)

    assert (await work).summary.startswith("Notes.")
    await session.close()
