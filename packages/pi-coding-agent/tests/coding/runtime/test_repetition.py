"""Repetition is stopped only if the settings enable it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.testing import calls, says
from tests.coding.runtime.session_fixture import SessionFixture


async def test_by_default_repeated_tool_calls_do_not_end_a_run(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, *[calls("ls", path=".")] * 50, says("done"))
    session = await fixture.open()
    await session.prompts.prompt("again and again")
    await session.close()

    assert session.info.last_answer() == "done"


async def test_by_default_a_repetitive_answer_is_not_interrupted(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("All work and no play. " * 2000))
    session = await fixture.open()
    await session.prompts.prompt("write")
    await session.close()

    assert len(session.info.last_answer() or "") == 44_000


@pytest.mark.behaviour("loops-are-stopped")
async def test_a_repetitive_answer_is_interrupted_if_enabled(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, *[says("All work and no play. " * 2000)] * 2)
    fixture.write(".pi/agent/settings.json", '{"repetition": {"text": true}}')
    session = await fixture.open()
    await session.prompts.prompt("write")
    await session.close()

    assert len(session.info.last_answer() or "") < 44_000
