"""Everything that depends on the working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.testing import calls, says
from tests.coding.runtime.stage import ENVIRON, Stage


async def test_a_project_counts_only_when_it_is_trusted(tmp_path: Path) -> None:
    stage = Stage(tmp_path, calls("bash", command="true"), says("ok"))
    stage.write("project/.pi/settings.json", '{"shellCommandPrefix": "echo prefixed"}')
    session = await stage.open()
    assert (await session.shell.run("echo hi")).output == "hi\n"
    await session.close()

    trusted = await stage.open(approve=True)
    assert (await trusted.shell.run("echo hi")).output == "prefixed\nhi\n"
    await trusted.close()


@pytest.mark.trap(104)
async def test_commands_see_no_keys_unless_the_person_lets_them(tmp_path: Path) -> None:
    environ = {**ENVIRON, "OPENAI_API_KEY": "sk-1", "GIT_DIR": "/evil", "FINE": "yes"}
    stage = Stage(tmp_path, environ=environ)
    command = "echo [$OPENAI_API_KEY][$GIT_DIR][$FINE]"
    session = await stage.open()
    assert (await session.shell.run(command)).output == "[][][yes]\n"
    await session.close()

    stage.write(".pi/agent/settings.json", '{"shell": {"env": {"allow": ["OPENAI_*"]}}}')
    allowed = await stage.open()
    assert (await allowed.shell.run(command)).output == "[sk-1][][yes]\n"
    await allowed.close()


@pytest.mark.trap(278)
async def test_a_broken_settings_file_is_reported_and_the_session_starts(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    path = stage.write(".pi/agent/settings.json", "{broken")
    session = await stage.open()
    await session.close()

    assert stage.reports[0].startswith(f"Warning: Invalid settings file {path}")
    assert path.read_text() == "{broken"


async def test_skills_of_the_settings_are_loaded(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.write("more/review/SKILL.md", "---\ndescription: Reviews.\n---\nx")
    stage.write(".pi/agent/settings.json", f'{{"skills": ["{stage.home}/more"]}}')
    session = await stage.open()

    assert [each.name for each in session.facts.commands()] == ["skill:review"]
    await session.close()
