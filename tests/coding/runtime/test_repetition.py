"""Only what no work looks like is stopped by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.testing import calls, says
from tests.coding.runtime.stage import Stage


async def test_the_same_command_fifty_times_is_work(tmp_path: Path) -> None:
    stage = Stage(tmp_path, *[calls("ls", path=".")] * 50, says("done"))
    session = await stage.open()
    await session.prompts.prompt("again and again")
    await session.close()

    assert session.facts.last_answer() == "done"


async def test_a_long_answer_of_one_sentence_is_an_answer(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("All work and no play. " * 2000))
    session = await stage.open()
    await session.prompts.prompt("write")
    await session.close()

    assert len(session.facts.last_answer() or "") == 44_000


@pytest.mark.behaviour("loops-are-stopped")
async def test_who_wants_it_has_circles_cut(tmp_path: Path) -> None:
    stage = Stage(tmp_path, *[says("All work and no play. " * 2000)] * 2)
    stage.write(".pi/agent/settings.json", '{"repetition": {"text": true}}')
    session = await stage.open()
    await session.prompts.prompt("write")
    await session.close()

    assert len(session.facts.last_answer() or "") < 44_000
