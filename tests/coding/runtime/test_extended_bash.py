"""The bash tool says more only when the person wants that."""

from __future__ import annotations

from pathlib import Path

from pi.testing import calls, says
from tests.coding.runtime.stage import Stage

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
    told = str(session.facts.messages()[-2])
    await session.close()

    assert "faux true y" in told
