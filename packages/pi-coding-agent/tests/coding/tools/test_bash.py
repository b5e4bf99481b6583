from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from msgspec import UNSET

from pi.agent.tools.tool import AgentTool, ToolFailed, ToolResult
from pi.ai.messages import Text
from pi.base.records import replace
from pi.coding.blobs.artifacts import Artifact
from pi.coding.shell.local import ShellOptions
from pi.coding.tools.bash import bash_tool, validate_timeout
from pi.testing import calls, says
from tests.agent.agents import AgentFixture
from tests.base.processes.children import needs_posix_shell, passing_of
from tests.coding.shell.shells import shell_harness
from tests.coding.tools.places import make, make_shell, text_of, use

pytestmark = needs_posix_shell


@pytest.fixture
def bash(tmp_path: Path) -> AgentTool:
    return make(tmp_path, "bash")


async def failure(tool: AgentTool, **arguments: object) -> str:
    with pytest.raises(ToolFailed) as failed:
        await use(tool, **arguments)
    return failed.value.message


async def test_results_show_how_a_command_ended(bash: AgentTool) -> None:
    hi = await use(bash, command="echo hi")
    assert replace(hi, structured_content=UNSET) == ToolResult.of("hi\n")
    assert await text_of(bash, command="true") == "(no output)"
    assert await failure(bash, command="echo out; exit 4") == (
        "out\n\n\nCommand exited with code 4"
    )
    assert await failure(bash, command="exit 1") == "(no output)\n\nCommand exited with code 1"
    assert await failure(bash, command="sleep 9", timeout=0.2) == (
        "Command timed out after 0.2 seconds"
    )


@pytest.mark.behaviour("death-by-signal-is-failure")
async def test_a_command_killed_by_a_signal_fails_with_its_output(bash: AgentTool) -> None:
    assert await failure(bash, command="echo part; kill -SEGV $$") == (
        "part\n\n\nCommand exited with code 139"
    )


@pytest.mark.behaviour("bad-timeouts-are-refused")
@pytest.mark.parametrize("timeout", [0, -1, 1e9, float("inf"), float("nan")])
async def test_an_invalid_timeout_is_rejected(bash: AgentTool, timeout: float) -> None:
    with pytest.raises(ToolFailed, match="Invalid timeout"):
        validate_timeout(timeout)


@pytest.mark.behaviour("missing-cwd-is-a-result")
async def test_a_missing_shell_or_folder_is_an_error_result(tmp_path: Path) -> None:
    gone = make_shell(tmp_path / "gone", spill_folder=tmp_path)
    other = make_shell(tmp_path, options=ShellOptions(path="/no/shell"))

    assert "working directory" in await failure(bash_tool(gone), command="true")
    assert await failure(bash_tool(other), command="true") == (
        "The configured shell /no/shell does not exist or is not executable. "
        "Correct shellPath in the settings, or remove it to use bash."
    )


@pytest.mark.behaviour("long-output-is-bounded")
async def test_a_long_output_is_truncated_and_kept_as_an_artifact(tmp_path: Path) -> None:
    artifact = Artifact(id="0", path=tmp_path / "0.bash.log")
    tool = bash_tool(make_shell(tmp_path, new_artifact=lambda: artifact))

    result = await use(tool, command="seq 1 3000")

    assert isinstance(result.details, dict)
    path = result.details["fullOutputPath"]
    [block] = result.content
    assert isinstance(block, Text)
    assert block.text.endswith(f"3000\n\n[Showing lines 1001-3000 of 3000. Full output: {path}]")
    assert result.details["artifactId"] == "0"
    assert artifact.path.samefile(path), "one file under two names, not two files"
    assert artifact.path.read_bytes() == b"".join(b"%d\n" % n for n in range(1, 3001))


async def test_an_output_beyond_the_limit_is_truncated_with_a_notice(tmp_path: Path) -> None:
    tool = bash_tool(make_shell(tmp_path, most_kept=100 * 1024))

    result = await use(tool, command="yes | head -n 100000; echo end")

    assert isinstance(result.details, dict)
    path = result.details["fullOutputPath"]
    [block] = result.content
    assert isinstance(block, Text)
    notice = f"[Showing lines 98002-100001 of 100001. First 100.0KB, the rest was not kept: {path}]"
    assert block.text.endswith(f"y\nend\n\n{notice}")
    note = b"\n[Output beyond 100.0KB was not kept.]\n"
    assert Path(path).read_bytes() == b"y\n" * (50 * 1024) + note


@pytest.mark.behaviour("long-output-is-bounded")
async def test_the_notice_stands_before_the_reason_of_a_failure(bash: AgentTool) -> None:
    message = await failure(bash, command="seq 1 3000; exit 2")

    notice, reason = message.split("\n\n")[-2:]
    assert notice.startswith("[Showing lines 1001-3000 of 3000. Full output: ")
    assert reason == "Command exited with code 2"


@pytest.mark.behaviour("long-output-is-bounded")
async def test_snapshots_are_sent_while_a_command_runs_and_the_last_is_complete(
    tmp_path: Path,
) -> None:
    updates: list[ToolResult] = []
    seen = asyncio.Event()
    go = tmp_path / "go"

    class Updates(list[ToolResult]):
        def append(self, update: ToolResult) -> None:
            updates.append(update)
            if update.content:
                seen.set()

    script = f"echo one; until [ -e {go} ]; do sleep 0.02; done; echo two; echo three"
    running = asyncio.create_task(use(make(tmp_path, "bash"), Updates(), command=script))
    async with asyncio.timeout(30):
        await seen.wait()
        go.touch()
        result = await running

    assert updates[:2] == [ToolResult(), ToolResult.of("one\n", details={})]
    assert updates[-1] == ToolResult.of("one\ntwo\nthree\n", details={})
    assert replace(result, structured_content=UNSET) == ToolResult.of("one\ntwo\nthree\n")


async def test_a_flood_of_output_makes_few_snapshots(bash: AgentTool) -> None:
    updates: list[ToolResult] = []

    await use(bash, updates, command="for i in $(seq 1 2000); do echo $i; done")

    assert len(updates) < 50


async def test_a_command_gets_the_id_of_its_session(tmp_path: Path) -> None:
    tool = bash_tool(make_shell(tmp_path), variables=lambda: {"PI_SESSION_ID": "s1"})

    assert await text_of(tool, command="echo $PI_SESSION_ID") == "s1\n"


@pytest.mark.behaviour("child-environment-is-clean")
async def test_a_command_does_not_inherit_the_repository_of_the_agent(tmp_path: Path) -> None:
    environ = {**os.environ, "GIT_DIR": "/elsewhere", "GIT_WORK_TREE": "/elsewhere"}
    tool = bash_tool(make_shell(tmp_path, environ=environ))

    assert await text_of(tool, command='echo "[$GIT_DIR$GIT_WORK_TREE]"') == "[]\n"


@pytest.mark.behaviour("process-group-is-killed")
async def test_an_abort_of_the_agent_keeps_the_output_and_ends_all_processes(
    tmp_path: Path,
) -> None:
    async with shell_harness(tmp_path) as harness:
        fixture = AgentFixture(
            calls("bash", command="echo part; setsid sleep 600 & sleep 600"),
            says("ok"),
            tools=[bash_tool(harness.shell)],
        )
        running = asyncio.create_task(fixture.agent.prompt("go"))
        async with asyncio.timeout(30):
            while len(harness.remaining()) < 3:
                await passing_of(0.01)
            fixture.agent.abort()
            await running

        assert fixture.texts == ["part\n\n\nCommand aborted"]
        assert harness.remaining() == []
