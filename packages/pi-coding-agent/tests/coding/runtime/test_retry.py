"""Retries after a failed answer, and their control."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.ai.errors import ProviderUnavailable
from pi.testing import says
from tests.coding.runtime.session_fixture import SessionFixture, kinds

DOWN = ProviderUnavailable("503: overloaded", status=503)


@pytest.mark.behaviour("abandoned-attempts-stay-visible")
async def test_a_failed_answer_is_retried_and_removed_from_the_context(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, DOWN, says("recovered"))
    session = await fixture.open()
    run = asyncio.create_task(session.prompts.prompt("hi"))
    await fixture.clock.advance(2)
    await run

    assert kinds(session)[3:] == ["user", "assistant", "context_edit", "assistant"]
    assert "503: overloaded" not in str(fixture.provider.requests[1].messages)
    start, entry = fixture.order.index("auto_retry_start"), fixture.order.index("entry_appended")
    assert start < entry
    await session.close()


async def test_a_retry_can_be_aborted_and_retries_can_be_disabled(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, DOWN, DOWN)
    session = await fixture.open()
    run = asyncio.create_task(session.prompts.prompt("hi"))
    await fixture.clock.advance(1)
    assert await session.retry.cancel()
    await run
    assert not await session.retry.cancel()
    session.settings.override({"retry.enabled": False})
    await session.prompts.prompt("again")

    assert fixture.order.count("auto_retry_start") == 1
    await session.close()
