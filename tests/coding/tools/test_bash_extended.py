from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pi.agent.tools.tool import AgentTool, ToolFailed, ToolResult
from pi.base.processes.terminal import ChildTerminal
from pi.base.tasks import TaskScope
from pi.coding.files.local import LocalFiles
from pi.coding.shell.jobs import Job, ShellJobs
from pi.coding.tools.bash_extended import BashEnvironment, ExtendedOptions, extended_bash_tool
from tests.base.processes.children import needs_posix_shell, passing_of
from tests.coding.shell.shells import Room, empty_room
from tests.coding.tools.places import text_of, use

pytestmark = needs_posix_shell

TIMEOUT_SECONDS = 60.0


class Bench:
    """The tool with everything around it."""

    def __init__(self, room: Room, scope: TaskScope) -> None:
        self.room = room
        self.ended: list[Job] = []
        self.jobs = ShellJobs(room.shell, scope, on_end=self.ended.append)
        self.opened: list[tuple[str, ChildTerminal]] = []

    async def _opened(self, call_id: str, terminal: ChildTerminal) -> None:
        self.opened.append((call_id, terminal))

    def tool(self, **options: object) -> AgentTool:
        around = BashEnvironment(
            shell=self.room.shell,
            files=LocalFiles(lambda: self.room.folder, home="/"),
            jobs=self.jobs,
            tools=lambda: ("read", "bash"),
            variables=lambda: {"PI_SESSION_ID": "s1"},
            terminal_opened=self._opened,
        )
        return extended_bash_tool(around, ExtendedOptions(**options))  # type: ignore[arg-type]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with empty_room(tmp_path) as room, TaskScope() as scope:
        yield Bench(room, scope)


async def failure(tool: AgentTool, **arguments: object) -> ToolFailed:
    with pytest.raises(ToolFailed) as failed:
        await use(tool, **arguments)
    return failed.value


async def test_variables_and_a_folder_can_be_given(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    tool = bench.tool()

    assert await text_of(tool, command='echo "$A $PI_SESSION_ID"; pwd', env={"A": "1"}) == (
        f"1 s1\n{tmp_path}\n"
    )
    assert await text_of(tool, command="pwd", cwd="below") == f"{tmp_path}/below\n"
    assert await text_of(tool, command="cd below && pwd | head -5") == f"{tmp_path}/below\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cwd": "gone"}, "Working directory does not exist: {}/gone"),
        ({"cwd": "file"}, "Working directory is not a directory: {}/file"),
        (
            {"env": {"a-b": "1"}},
            "'a-b' cannot be the name of a variable: use letters, digits, _.",
        ),
        ({"async": True}, "Jobs are switched off (async.enabled), so async cannot be used here."),
    ],
)
async def test_what_cannot_be_is_refused(
    bench: Bench, tmp_path: Path, arguments: dict[str, object], message: str
) -> None:
    (tmp_path / "file").touch()

    failed = await failure(bench.tool(), command="true", **arguments)

    assert failed.message == message.format(tmp_path)


async def test_a_failure_has_its_exit_code_in_the_details(bench: Bench) -> None:
    failed = await failure(bench.tool(), command="echo x; exit 4")

    assert (failed.message, failed.details) == (
        "x\n\n\nCommand exited with code 4",
        {"exitCode": 4},
    )


async def test_a_timeout_is_bent_to_what_is_allowed(bench: Bench) -> None:
    failed = await failure(bench.tool(), command="sleep 9", timeout=0.01)

    assert failed.message == "Command timed out after 1 seconds"


async def test_a_command_for_which_the_model_has_a_tool_is_refused(bench: Bench) -> None:
    tool = bench.tool(intercept=True)

    failed = await failure(tool, command="cat file | tail -3")

    assert failed.message.startswith("Blocked: Use the read tool")
    assert await text_of(tool, command="grep x /dev/null || echo none") == "none\n"


async def test_a_job_returns_at_once_and_its_end_is_reported(bench: Bench, tmp_path: Path) -> None:
    tool, go = bench.tool(jobs=True), tmp_path / "go"
    script = f"until [ -e {go} ]; do sleep 0.02; done; echo done"

    result = await use(tool, command=script, **{"async": True})

    assert result == ToolResult.of(
        "The command runs on as job bash-1. You will be notified when it ends.",
        details={"jobId": "bash-1", "state": "running"},
    )
    job = bench.jobs.get("bash-1")
    assert job is not None
    go.touch()
    assert await job.ended_within(10)
    assert bench.ended == [job]
    assert job.output.written().tail.content == "done\n"


async def test_a_command_that_takes_long_becomes_a_job_and_a_quick_one_does_not(
    bench: Bench,
) -> None:
    tool = bench.tool(jobs=True, background_after=0.3)

    assert await text_of(tool, command="echo quick") == "quick\n"
    assert await text_of(tool, command="echo begun; sleep 600") == (
        "begun\n\n\nThe command runs on as job bash-2. You will be notified when it ends."
    )
    assert len(bench.jobs.running) == 1


async def test_an_abort_ends_the_command_and_keeps_what_was_said(bench: Bench) -> None:
    updates: list[ToolResult] = []
    running = asyncio.create_task(use(bench.tool(), updates, command="echo part; sleep 600"))
    async with asyncio.timeout(30):
        while len(updates) < 2:
            await passing_of(0.01)
        running.cancel()
        with pytest.raises(ToolFailed) as failed:
            await running

    assert failed.value.message == "part\n\n\nCommand aborted"
    assert bench.room.left() == []


async def test_a_terminal_is_opened_only_where_it_can_be_shown(bench: Bench) -> None:
    command = "test -t 1 && echo terminal || echo pipe"

    assert await text_of(bench.tool(terminals=True), command=command, pty=True) == "terminal\n"
    assert await text_of(bench.tool(terminals=True), command=command) == "pipe\n"
    assert await text_of(bench.tool(), command=command, pty=True) == "pipe\n"
    assert len(bench.opened) == 1


async def test_a_command_in_a_terminal_shows_what_it_writes_while_it_runs(
    bench: Bench, tmp_path: Path
) -> None:
    updates: list[ToolResult] = []
    go = tmp_path / "go"
    command = f"echo part; until [ -e {go} ]; do sleep 0.02; done; echo rest"
    tool = bench.tool(terminals=True)
    running = asyncio.create_task(use(tool, updates, command=command, pty=True))
    async with asyncio.timeout(TIMEOUT_SECONDS):
        part = ToolResult.of("part\n").content
        while all(update.content != part for update in updates):  # it may come in two pieces
            await passing_of(0.01)
        go.touch()

        assert await running == ToolResult.of("part\nrest\n")


async def test_an_abort_ends_a_command_in_a_terminal(bench: Bench) -> None:
    updates: list[ToolResult] = []
    tool = bench.tool(terminals=True)
    command = "echo part; setsid sleep 600 & sleep 600"
    running = asyncio.create_task(use(tool, updates, command=command, pty=True))
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while len(updates) < 2:
            await passing_of(0.01)
        running.cancel()
        with pytest.raises(ToolFailed) as failed:
            await running

    assert failed.value.message.startswith("part\n")
    assert failed.value.message.endswith("\n\nCommand aborted")
    assert bench.room.left() == []


async def test_a_timeout_ends_a_command_in_a_terminal(bench: Bench) -> None:
    tool = bench.tool(terminals=True)

    failed = await failure(tool, command="setsid sleep 600 & sleep 600", pty=True, timeout=1)

    assert failed.message.endswith("Command timed out after 1 seconds")
    assert bench.room.left() == []


async def test_the_exit_code_of_a_command_in_a_terminal_is_returned(bench: Bench) -> None:
    failed = await failure(bench.tool(terminals=True), command="tty -s && exit 4", pty=True)

    assert (failed.message, failed.details) == (
        "(no output)\n\nCommand exited with code 4",
        {"exitCode": 4},
    )


def test_the_schema_has_jobs_only_if_they_are_enabled(tmp_path: Path) -> None:
    async def names(**options: object) -> list[str]:
        async with TaskScope() as scope:
            tool = Bench(Room(tmp_path), scope).tool(**options)
            return [*tool.parameters["properties"]]

    plain = ["command", "env", "timeout", "cwd", "pty"]
    assert asyncio.run(names()) == plain
    assert asyncio.run(names(jobs=True)) == [*plain, "async"]
