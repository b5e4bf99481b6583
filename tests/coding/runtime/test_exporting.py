"""An export of a session that runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.export.errors import ExportFailed
from pi.testing import says
from tests.coding.runtime.stage import Stage


@pytest.mark.trap(293)
async def test_the_page_shows_the_prompt_and_the_tools(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"))
    session = await stage.open()
    await session.prompts.prompt("hi")
    page = (await session.export()).read_text()
    await session.close()

    assert "You are pi" in page
    assert "Run a command" in page or "bash" in page


async def test_nothing_said_is_nothing_to_export(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    session = await stage.open()
    with pytest.raises(ExportFailed, match="Nothing to export yet"):
        await session.export()
    await session.close()
