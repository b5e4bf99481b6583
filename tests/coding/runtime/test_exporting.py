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
    page = (await session.exports.write()).read_text()
    await session.close()

    assert "You are pi" in page
    assert "Run a command" in page or "bash" in page


async def test_nothing_said_is_nothing_to_export(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    session = await stage.open()
    with pytest.raises(ExportFailed, match="Nothing to export yet"):
        await session.exports.write()
    await session.close()


async def test_a_dump_has_prompt_tools_and_words_but_no_secrets(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("the answer"), environ={"PATH": "", "OPENAI_API_KEY": "hush-hush"})
    session = await stage.open(persistent=False)
    empty = await session.exports.text()
    await session.prompts.prompt("my key is hush-hush")
    text = await session.exports.text()
    await session.close()

    assert empty == ""
    assert "=== System prompt ===" in text
    assert "the answer" in text
    assert "hush-hush" not in text


async def test_no_export_tells_what_the_credential_store_holds(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"))
    stage.write(".pi/agent/auth.json", '{"groq": {"type": "api_key", "key": "hush-hush"}}')
    session = await stage.open()
    await session.prompts.prompt("my key is hush-hush")
    page = (await session.exports.write()).read_text()
    text = await session.exports.text()
    await session.close()

    assert "my key is [redacted]" in page and "my key is [redacted]" in text
    assert "hush-hush" not in page + text


async def test_a_program_of_the_person_shares(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"))
    program = stage.write("share-it", '#!/bin/sh\necho "at https://x.example/$(basename "$1")"\n')
    program.chmod(0o755)
    session = await stage.open()
    session.settings.override({"share.command": [str(program)]})
    await session.prompts.prompt("hi")
    shared = await session.exports.share()
    await session.close()

    assert shared.url.startswith("https://x.example/pi-session-")
