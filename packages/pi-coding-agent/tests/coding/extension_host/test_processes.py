from __future__ import annotations

import os
import sys
from pathlib import Path

from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.api.processes import ExecResult
from tests.coding.extension_host.extension_session import extension_session

ECHO = "import sys, os; print(sys.stdin.read() + os.environ.get('MINE', ''), os.getcwd())"


async def test_exec_runs_a_program_with_stdin_and_environment_and_returns_its_result(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append) as hosted:
        (pi,) = apis
        argv = [sys.executable, "-c", ECHO]
        result = await pi.exec(argv, stdin="in ", env={"MINE": "mine"}, timeout=20)
        failed = await pi.exec([sys.executable, "-c", "raise SystemExit(3)"], cwd=tmp_path)

    assert result == ExecResult(stdout=f"in mine {hosted.fixture.cwd}\n", stderr="", code=0)
    assert failed.code == 3


async def test_a_program_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append):
        argv = [sys.executable, "-c", "import time; time.sleep(60)"]
        result = await apis[0].exec(argv, timeout=0.2)

    assert (result.killed, result.code) == (True, None)


async def test_a_spawned_child_ends_with_the_session(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append):
        child = await apis[0].spawn([sys.executable, "-c", "print(input(), flush=True); input()"])
        await child.write(b"hello\n")
        assert await child.output.readline() == b"hello\n"

    ended = await child.wait()
    assert not ended.ok


async def test_a_detached_child_outlives_the_session_and_has_no_pipes(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    reported = tmp_path / "reported"
    script = (
        "import sys, pathlib; "
        "nothing = [sys.stdin.read(), sys.stdout.write('lost'), sys.stderr.write('lost')]; "
        f"pathlib.Path({os.fspath(reported)!r}).write_text(repr(nothing))"
    )

    async with extension_session(tmp_path, apis.append):
        child = await apis[0].spawn([sys.executable, "-c", script], detached=True)
        assert await child.output.read() == await child.errors.read() == b""

    assert (await child.wait()).ok
    assert reported.read_text() == repr(["", 4, 4])
