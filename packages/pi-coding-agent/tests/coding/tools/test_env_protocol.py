from __future__ import annotations

from pathlib import Path

from pi.agent.env import ExecutionEnv
from pi.agent.tools.define import tool
from pi.ai.testing import calls, says
from pi.coding.tools.local_env import LocalEnv
from tests.agent.agents import AgentFixture
from tests.coding.tools.places import make_shell


async def test_a_tool_can_use_an_execution_environment_and_its_error_reaches_the_model(
    tmp_path: Path,
) -> None:
    env: ExecutionEnv = LocalEnv(lambda: tmp_path, home="/", shell=make_shell(tmp_path))

    @tool
    async def show(path: str) -> str:
        """Show a file."""
        return (await env.read_file(path)).decode()

    fixture = AgentFixture(
        calls("show", path="a"), calls("show", path="b"), says("ok"), tools=[show]
    )
    await env.write_file("a", b"found")

    await fixture.agent.prompt("go")

    assert [result.is_error for result in fixture.results] == [False, True]
    assert fixture.texts == ["found", "Cannot read b: No such file or directory."]
