"""Exports of a running session."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.export.files import ExportFailed, ShareFailed
from pi.testing import says
from tests.coding.runtime.session_fixture import ENVIRON, SessionFixture


@pytest.mark.behaviour("export-has-prompt-and-tools")
async def test_the_page_shows_the_prompt_and_the_tools(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    session = await fixture.open()
    await session.prompts.prompt("hi")
    page = (await session.exports.write()).read_text()
    await session.close()

    assert "You are pi" in page
    assert "Run a command" in page or "bash" in page


async def test_exporting_an_empty_session_raises_an_error(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    with pytest.raises(ExportFailed, match="Nothing to export yet"):
        await session.exports.write()
    await session.close()


async def test_a_text_export_has_prompt_and_conversation_but_no_secrets(tmp_path: Path) -> None:
    fixture = SessionFixture(
        tmp_path, says("the answer"), environ={"PATH": "", "OPENAI_API_KEY": "hush-hush"}
    )
    session = await fixture.open(persistent=False)
    empty = await session.exports.text()
    await session.prompts.prompt("my key is hush-hush")
    text = await session.exports.text()
    await session.close()

    assert empty == ""
    assert "=== System prompt ===" in text
    assert "the answer" in text
    assert "hush-hush" not in text


async def test_exports_contain_no_stored_credentials(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    fixture.write(".pi/agent/auth.json", '{"groq": {"type": "api_key", "key": "hush-hush"}}')
    session = await fixture.open()
    await session.prompts.prompt("my key is hush-hush")
    page = (await session.exports.write()).read_text()
    text = await session.exports.text()
    await session.close()

    assert "my key is [redacted]" in page and "my key is [redacted]" in text
    assert "hush-hush" not in page + text


async def test_a_session_is_shared_with_the_configured_program(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    program = fixture.write("share-it", '#!/bin/sh\necho "at https://x.example/$(basename "$1")"\n')
    program.chmod(0o755)
    session = await fixture.open()
    session.settings.override({"share.command": [str(program)]})
    await session.prompts.prompt("hi")
    shared = await session.exports.share()
    await session.close()

    assert shared.url.startswith("https://x.example/pi-session-")


async def test_the_share_program_gets_no_api_keys_unless_the_settings_allow_them(
    tmp_path: Path,
) -> None:
    keys = {"OPENAI_API_KEY": "one", "GROQ_API_KEY": "two"}
    fixture = SessionFixture(tmp_path, says("a"), environ={**ENVIRON, **keys})
    program = fixture.write("share-it", "#!/bin/sh\necho $OPENAI_API_KEY $GROQ_API_KEY\n")
    program.chmod(0o755)
    session = await fixture.open()
    session.settings.override(
        {"share.command": [str(program)], "shell.env.allow": ["GROQ_API_KEY"]}
    )
    await session.prompts.prompt("hi")
    shared = await session.exports.share()
    await session.close()

    assert shared.message == "two"


async def test_the_github_cli_gets_the_github_token_even_if_a_provider_uses_it(
    tmp_path: Path,
) -> None:
    path = f"{tmp_path / 'home'}:/usr/bin:/bin"
    keys = {"PATH": path, "GH_TOKEN": "one", "GROQ_API_KEY": "two"}
    fixture = SessionFixture(tmp_path, says("a"), environ=keys)
    fixture.write(".pi/agent/models.json", '{"providers": {"mine": {"apiKey": "$GH_TOKEN"}}}')
    seen = tmp_path / "seen"
    fixture.write("gh", f"#!/bin/sh\necho $GH_TOKEN $GROQ_API_KEY > {seen}\nexit 1\n").chmod(0o755)
    session = await fixture.open()
    await session.prompts.prompt("hi")
    with pytest.raises(ShareFailed):
        await session.exports.share()
    await session.close()

    assert seen.read_text() == "one\n"
