from __future__ import annotations

from pathlib import Path

from pi.agent.env import ExecResult, ExecutionEnv
from pi.coding.tools.local_env import LocalEnv
from tests.coding.shell.shells import needs_posix_shell
from tests.coding.tools.places import make_shell

pytestmark = needs_posix_shell


async def test_files_and_commands_share_a_folder(tmp_path: Path) -> None:
    env: ExecutionEnv = LocalEnv(lambda: tmp_path, home="/", shell=make_shell(tmp_path))
    told: list[str] = []

    await env.write_file("f", b"text")
    result = await env.exec("cat f; echo $X", env={"X": "1"}, timeout=30, on_output=told.append)

    assert result == ExecResult(exit_code=0, output="text1\n")
    assert "".join(told) == "text1\n"
    assert env.cwd == str(tmp_path)
