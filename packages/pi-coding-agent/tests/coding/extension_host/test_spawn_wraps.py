from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.base.processes.terminal import ChildTerminal
from pi.base.records import replace
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.port.results import SubSession
from pi.coding.shell.jobs import JobOutput
from pi.coding.shell.spawns import ProcessLimits, SpawnRefused, SpawnRequest
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session


def results(hosted: ExtensionFixture) -> list[str]:
    tool_results = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
    return [message.content[0].text for message in tool_results]  # type: ignore[union-attr]


async def test_every_command_and_program_passes_through_the_wraps_in_order(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []
    seen: list[tuple[str, str]] = []

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)

        def note(request: SpawnRequest) -> SpawnRequest:
            seen.append((request.kind, request.command))
            return replace(request, env={**request.env, "MARK": "first"})

        async def change(request: SpawnRequest) -> SpawnRequest:
            return replace(request, env={**request.env, "MARK": request.env["MARK"] + " second"})

        pi.wrap_spawn(change, at="last")
        pi.wrap_spawn(note)

    steps = (calls("bash", command="echo $MARK"), says("done"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        (pi,) = apis
        await hosted.session.prompt("go")
        own = await hosted.session.shell.run("echo $MARK")
        done = await pi.exec(["sh", "-c", "echo $MARK"])
        child = await pi.spawn(["sh", "-c", "echo $MARK"], kind="mcp")
        line = await child.output.read(100)

        assert results(hosted) == ["first second\n"]
        assert (own.output, done.stdout, line) == (
            "first second\n",
            "first second\n",
            b"first second\n",
        )
        kinds = [("bash", "echo $MARK"), ("user", "echo $MARK"), ("extension", ""), ("mcp", "")]
        assert seen == kinds


async def test_a_wrap_sees_only_its_kinds(tmp_path: Path) -> None:
    seen: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        def note(request: SpawnRequest) -> SpawnRequest:
            seen.append(request.kind)
            return request

        pi.wrap_spawn(note, {"user"})

    steps = (calls("bash", command="true"), says("done"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt("go")
        await hosted.session.shell.run("true")

    assert seen == ["user"]


async def test_a_prepared_spawn_request_passes_the_wraps_only_once(
    tmp_path: Path,
) -> None:
    seen: list[str] = []
    apis: list[ExtensionAPI] = []

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)

        def mark(request: SpawnRequest) -> SpawnRequest:
            seen.append(request.command)
            return replace(request, env={**request.env, "MARK": "wrapped"})

        pi.wrap_spawn(mark, {"bash"})

    async with extension_session(tmp_path, extension):
        request = await apis[0].prepare_spawn(
            ["sh", "-c", "echo $MARK"],
            kind="bash",
            command="echo",
            env={"PATH": os.environ["PATH"]},
            environment=None,
        )
        child = await apis[0].spawn(request)
        output = await child.output.read()

    assert (seen, output) == (["echo"], b"wrapped\n")


async def test_shell_setup_describes_the_shell_of_the_bash_tool(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(
        tmp_path, apis.append, settings={"shellCommandPrefix": "true"}
    ) as hosted:
        setup = apis[0].context.shell_setup()

    assert Path(setup.path).name == "bash"
    assert setup.env["PI_SESSION_ID"] == hosted.session.entries.log.header.id
    assert setup.options.prefix == "true"


async def test_a_wrap_refuses_a_command_and_the_model_gets_the_reason(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)

        def refuse(request: SpawnRequest) -> SpawnRequest:
            raise SpawnRefused("Only plan: no programs.")

        pi.wrap_spawn(refuse)

    steps = (calls("bash", command="touch made"), says("done"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt("go")

        assert "Only plan: no programs." in results(hosted)[0]
        assert not (hosted.fixture.cwd / "made").exists()
        with pytest.raises(SpawnRefused, match="Only plan"):
            await apis[0].exec(["true"])


@pytest.mark.parametrize("fault", [lambda request: None, lambda request: 1 / 0])
async def test_a_failing_wrap_prevents_the_program_from_starting(
    tmp_path: Path, fault: Any
) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.wrap_spawn(fault)

    steps = (calls("bash", command="touch made"), says("done"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt("go")

        assert "a spawn wrap of an extension failed" in results(hosted)[0]
        assert not (hosted.fixture.cwd / "made").exists()


async def test_a_wrap_may_run_programs_itself(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)

        async def probe(request: SpawnRequest) -> SpawnRequest:
            probe_result = await pi.exec(["sh", "-c", "echo found"])
            return replace(request, env={**request.env, "PROBED": probe_result.stdout.strip()})

        pi.wrap_spawn(probe)

    async with extension_session(tmp_path, extension):
        done = await apis[0].exec(["sh", "-c", "echo $PROBED"])

    assert done.stdout == "found\n"


async def test_spawn_wraps_of_a_session_apply_to_nested_sessions(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)

        def refuse(request: SpawnRequest) -> SpawnRequest:
            raise SpawnRefused("not here")

        pi.wrap_spawn(refuse)

    steps = (calls("bash", command="true"), says("done"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await (await apis[0].sub_session(SubSession(prompt="go"))).result()

        assert "not here" in str(hosted.fixture.provider.requests[1].messages[-1])


@pytest.mark.skipif(sys.platform == "win32", reason="limits need POSIX")
async def test_limits_hold_for_the_program_and_its_children(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)
        limits = ProcessLimits(file_bytes=1024, cpu_seconds=5)
        pi.wrap_spawn(lambda request: replace(request, limits=limits))

    async with extension_session(tmp_path, extension):
        script = "(head -c 5000 /dev/zero > big) ; ulimit -t; wc -c < big"
        done = await apis[0].exec(["bash", "-c", script])

    assert done.stdout.split() == ["5", "1024"]


async def test_jobs_are_added_listed_read_awaited_and_cancelled(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    go = asyncio.Event()

    async def work(*, fails: bool = False) -> bool:
        await go.wait()
        return not fails

    async with extension_session(tmp_path, apis.append):
        jobs = apis[0].context.jobs
        before = jobs.list()
        for fails in (False, True):
            task = asyncio.create_task(work(fails=fails))
            jobs.add("build", task, lambda: JobOutput(text="begun\n"), prefix="bash")
        forever = asyncio.create_task(asyncio.Event().wait())
        jobs.add("serve", forever, lambda: JobOutput(text=""))
        waited = await jobs.wait("bash-1", timeout=0)
        go.set()
        ended = [await jobs.wait(id) for id in ("bash-1", "bash-2")]
        running = jobs.cancel("job-3")
        await jobs.wait("job-3")

        assert (before, waited.state) == ((), "running")
        assert jobs.read("bash-1").text == "begun\n"
        assert [job.state for job in ended] == ["completed", "failed"]
        assert (running, jobs.list()[2].state, jobs.cancel("job-3")) == (True, "cancelled", False)
        with pytest.raises(Exception, match="Unknown job 'bash-9'"):
            jobs.read("bash-9")


async def test_jobs_end_with_their_session(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append):
        task = asyncio.create_task(asyncio.Event().wait())
        apis[0].context.jobs.add("serve", task, lambda: JobOutput(text=""))

    assert task.cancelled()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
async def test_a_program_runs_in_a_terminal(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append):
        terminal = ChildTerminal(columns=90, rows=20)
        script = "test -t 0 && stty size && read line && echo got $line"
        child = await apis[0].spawn(["sh", "-c", script], terminal=terminal)
        await terminal.send(b"keys\r")
        output = b""
        while data := await child.output.read(1000):
            output += data
        ended = await child.wait()

    assert ended.exit_code == 0
    assert b"20 90" in output
    assert b"got keys" in output


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
async def test_an_extension_gets_the_terminal_of_a_command(tmp_path: Path) -> None:
    written: list[bytes] = []
    opened: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("terminal_opened")
        async def watch(event: Any, ctx: Any) -> None:
            opened.append(event.call_id)
            event.terminal.on_output(written.append)
            await event.terminal.send(b"keys\r")

        apis.append(pi)

    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, extension):
        terminal = ChildTerminal()
        child = await apis[0].spawn(
            ["sh", "-c", "read line; echo got $line"], terminal=terminal, call_id="call-1"
        )
        while data := await child.output.read(1000):
            terminal.received(data)

    assert opened == ["call-1"]
    assert b"got keys" in b"".join(written)
