"""The extended bash tool is opt-in."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from pi.ai.messages import Text, ToolResultMessage
from pi.coding.port.ui import Mode
from pi.coding.runtime.assemble import assemble
from pi.coding.runtime.options import SessionOptions, SessionOverrides
from pi.testing import calls, says
from tests.coding.runtime.stage import ENVIRON, Stage

RETURN_PROBABILITY = 60.0
EXTENDED = '{"bash": {"extended": true}, "async": {"enabled": true}}'


async def test_the_model_sees_the_plain_schema_unless_it_is_switched_on(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    plain = await stage.open()
    await plain.close()
    stage.write(".pi/agent/settings.json", EXTENDED)
    extended = await stage.open()
    await extended.close()

    shown = []
    for session in (plain, extended):
        [bash] = [tool for tool in session._core.toolbox.active() if tool.name == "bash"]
        shown.append(list(bash.declaration.parameters["properties"]))
    assert shown[0] == ["command", "timeout"]
    assert {"env", "cwd", "async"} <= set(shown[1])


async def test_variables_of_the_session_reach_its_commands(tmp_path: Path) -> None:
    stage = Stage(
        tmp_path, calls("bash", command="echo $PI_MODEL $CI $X", env={"X": "y"}), says("ok")
    )
    stage.write(".pi/agent/settings.json", EXTENDED)
    session = await stage.open()
    await session.prompts.prompt("go")
    reported = str(session.facts.messages()[-2])
    await session.close()

    assert "faux true y" in reported


async def test_a_long_command_becomes_a_job_if_enabled(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, calls("bash", command="sleep 600"), says("ok"))
    stage.write(
        ".pi/agent/settings.json",
        '{"bash": {"extended": true, "autoBackground": {"enabled": true, "thresholdMs": 1}},'
        ' "async": {"enabled": true}}',
    )
    session = await stage.open()
    async with asyncio.timeout(RETURN_PROBABILITY):
        await session.prompts.prompt("go")
    reported = str(session.facts.messages()[-2])
    await session.close()

    assert "The command runs on as job bash-1. You will be told when it ends." in reported


@pytest.mark.parametrize(
    ("mode", "no_pty", "kind"),
    [
        ("tui", "", "terminal"),
        ("tui", "0", "terminal"),
        ("tui", "1", "pipe"),
        ("print", "", "pipe"),
        ("rpc", "", "pipe"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="terminals are those of POSIX")
async def test_a_command_gets_a_terminal_in_tui_mode_unless_disabled(
    tmp_path: Path, mode: Mode, no_pty: str, kind: str
) -> None:
    command = "test -t 1 && echo terminal || echo pipe"
    environ = {**ENVIRON, "PI_NO_PTY": no_pty}
    stage = Stage(tmp_path, calls("bash", command=command, pty=True), says("ok"), environ=environ)
    stage.write(".pi/agent/settings.json", EXTENDED)
    parts = SessionOverrides(registry=stage.registry, bus=stage.bus, mode=mode)
    built = await assemble(stage.cwd, stage.host, SessionOptions(model="faux/faux"), parts)
    await built.session.prompts.prompt("go")
    [reported] = [m for m in built.session.facts.messages() if isinstance(m, ToolResultMessage)]
    await built.session.close()

    assert reported.content == (Text(text=f"{kind}\n"),)


async def test_rules_of_the_settings_take_the_place_of_those_that_are_built_in(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, calls("bash", command="make all"), calls("bash", command="cat x"))
    rule = {"pattern": "^make", "tool": "read", "message": "Read the Makefile."}
    interceptor = {"enabled": True, "rules": [rule]}
    settings = {"bash": {"extended": True}, "bashInterceptor": interceptor}
    stage.write(".pi/agent/settings.json", json.dumps(settings))
    session = await stage.open()
    await session.prompts.prompt("go")
    reported = [str(m) for m in session.facts.messages() if isinstance(m, ToolResultMessage)]
    await session.close()

    assert "Blocked: Read the Makefile." in reported[0]
    assert "Blocked" not in reported[1]


async def test_commands_can_be_disabled_for_models_but_not_for_the_user(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.write(".pi/agent/settings.json", '{"bash": {"enabled": false}}')
    session = await stage.open()
    ran = await session.shell.run("echo mine")
    names = session._core.toolbox.names
    await session.close()

    assert ran.output == "mine\n"
    assert "bash" not in names and "read" in names


async def test_settings_of_the_tool_take_effect_with_a_reload(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    session = await stage.open()
    shown = []
    for settings in ("{}", EXTENDED, '{"bash": {"enabled": false}}'):
        stage.write(".pi/agent/settings.json", settings)
        await session.sessions.reload()
        tools = {tool.name: tool for tool in session._core.toolbox.active()}
        bash = tools.get("bash")
        shown.append(bash and "async" in bash.declaration.parameters["properties"])
    await session.close()

    assert shown == [False, True, None]
