"""Everything that depends on the working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.runtime.local_tools import environment_of_programs
from pi.coding.runtime.options import ToolFilter
from pi.coding.settings.files import BadSettings
from pi.testing import calls, says
from tests.coding.runtime.session_fixture import ENVIRON, SessionFixture


async def test_settings_of_a_project_apply_only_if_it_is_trusted(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, calls("bash", command="true"), says("ok"))
    fixture.write("project/.pi/settings.json", '{"shellCommandPrefix": "echo prefixed"}')
    session = await fixture.open()
    assert (await session.shell.run("echo hi")).output == "hi\n"
    await session.close()

    trusted = await fixture.open(approve=True)
    assert (await trusted.shell.run("echo hi")).output == "prefixed\nhi\n"
    await trusted.close()


@pytest.mark.behaviour("child-environment-is-clean")
async def test_commands_see_no_keys_unless_the_settings_allow_it(tmp_path: Path) -> None:
    environ = {**ENVIRON, "OPENAI_API_KEY": "sk-1", "GIT_DIR": "/evil", "FINE": "yes"}
    fixture = SessionFixture(tmp_path, environ=environ)
    command = "echo [$OPENAI_API_KEY][$GIT_DIR][$FINE]"
    session = await fixture.open()
    assert (await session.shell.run(command)).output == "[][][yes]\n"
    await session.close()

    fixture.write(".pi/agent/settings.json", '{"shell": {"env": {"allow": ["OPENAI_*"]}}}')
    allowed = await fixture.open()
    assert (await allowed.shell.run(command)).output == "[sk-1][][yes]\n"
    await allowed.close()


@pytest.mark.parametrize("name", ["PI_SHELL_PREFIX", "CLAUDE_CODE_SHELL_PREFIX"])
async def test_a_variable_sets_the_shell_wrapper_and_settings_override_it(
    tmp_path: Path, name: str
) -> None:
    fixture = SessionFixture(tmp_path, environ={**ENVIRON, name: "env X=variable"})
    session = await fixture.open()
    assert (await session.shell.run("echo $X")).output == "variable\n"
    session.settings.override({"shell.wrapper": "env X=setting"})
    assert (await session.shell.run("echo $X")).output == "setting\n"
    await session.close()


@pytest.mark.parametrize("name", ["PI_BASH_NO_LOGIN", "CLAUDE_BASH_NO_LOGIN"])
async def test_a_variable_disables_the_login_shell(tmp_path: Path, name: str) -> None:
    fixture = SessionFixture(tmp_path, environ={**ENVIRON, name: "1"})
    fixture.write(".bash_profile", "X=profile")
    session = await fixture.open()
    session.settings.override({"shell.login": True})
    assert (await session.shell.run("echo [$X]")).output == "[]\n"
    await session.close()


@pytest.mark.behaviour("broken-settings-are-left-alone")
async def test_no_session_starts_with_a_broken_settings_file(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    path = fixture.write(".pi/agent/settings.json", "{broken")
    with pytest.raises(BadSettings, match=str(path)):
        await fixture.open()

    assert path.read_text() == "{broken"


async def test_skills_of_the_settings_are_loaded(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write("more/review/SKILL.md", "---\ndescription: Reviews.\n---\nx")
    fixture.write(".pi/agent/settings.json", f'{{"skills": ["{fixture.home}/more"]}}')
    session = await fixture.open()

    assert [command.name for command in session.info.commands()] == ["skill:review"]
    await session.close()


async def test_search_programs_of_the_agent_directory_are_used(tmp_path: Path) -> None:
    fixture = SessionFixture(
        tmp_path,
        calls("grep", pattern="x"),
        says("ok"),
        environ={**ENVIRON, "PATH": str(tmp_path / "nothing")},
    )
    program = fixture.write(".pi/agent/bin/rg", "#!/bin/sh\necho searched >&2\nexit 2\n")
    program.chmod(0o755)
    session = await fixture.open(tools=ToolFilter(only=("grep",)))
    await session.prompts.prompt("go")
    reported = str(session.info.messages()[-2])
    await session.close()

    assert "searched" in reported


async def test_the_editor_gets_no_api_keys_unless_the_settings_allow_them(tmp_path: Path) -> None:
    keys = {"OPENAI_API_KEY": "one", "MINE": "two", "GROQ_API_KEY": "three", "OTHER": "four"}
    fixture = SessionFixture(tmp_path, environ=keys)
    fixture.write(".pi/agent/models.json", '{"providers": {"mine": {"apiKey": "$MINE"}}}')
    session = await fixture.open()
    session.settings.override({"shell.env.allow": ["GROQ_*"]})
    seen = environment_of_programs(fixture.host, session.settings)
    await session.close()

    assert {name: seen.get(name) for name in keys} == {
        "OPENAI_API_KEY": None,
        "MINE": None,
        "GROQ_API_KEY": "three",
        "OTHER": "four",
    }
