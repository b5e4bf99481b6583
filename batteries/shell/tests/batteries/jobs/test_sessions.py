"""Background jobs in real sessions, with a script in place of a model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pi.agent.events import AgentSettled, MessageEnd, QueueUpdate
from pi.ai.messages import Text, ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.batteries.jobs.adapter import extension
from pi.batteries.shell_session.adapter import extension as shell_session
from pi.coding.runtime.options import ToolFilter
from pi.coding.session.entries import CustomMessage
from tests.base.processes.children import needs_posix_shell
from tests.coding.extension_host.extension_session import (
    ExtensionFixture,
    FakeUI,
    extension_session,
)
from tests.modes.pipes import until

pytestmark = needs_posix_shell

TIMEOUT_SECONDS = 60.0
ON: dict[str, Any] = {"async": {"enabled": True}}


def results(hosted: ExtensionFixture) -> list[ToolResultMessage]:
    return [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]


def text(message: ToolResultMessage) -> str:
    return "".join(part.text for part in message.content if isinstance(part, Text))


def reports(hosted: ExtensionFixture) -> list[CustomMessage]:
    return [m for m in hosted.session.messages if isinstance(m, CustomMessage)]


def waits_for(file: Path) -> str:
    return f"until [ -e {file} ]; do sleep 0.02; done"


async def test_off_by_default_and_on_by_setting(tmp_path: Path) -> None:
    async def offered(folder: str, **options: Any) -> tuple[bool, bool]:
        async with extension_session(tmp_path / folder, extension, **options) as hosted:
            tools = {tool.name: tool for tool in hosted.session.tools.listed()}
            has_async = "async" in tools["bash"].parameters["properties"]
            return "job" in hosted.session.tools.active_names, has_async

    assert await offered("a") == (False, False)
    assert await offered("b", settings=ON) == (True, True)
    assert await offered("c", tools=ToolFilter(only=("bash", "job"))) == (True, False)


async def test_both_batteries_add_their_parameters(tmp_path: Path) -> None:
    settings = {**ON, "bash": {"extended": True}}
    for order in ((extension, shell_session), (shell_session, extension)):
        async with extension_session(
            tmp_path / order[0].__module__, *order, settings=settings
        ) as hosted:
            [bash] = [tool for tool in hosted.session.tools.listed() if tool.name == "bash"]

            assert {*bash.parameters["properties"]} == {
                *("command", "timeout", "env", "cwd", "pty", "async")
            }
            assert "All commands run in one shell" in bash.description
            assert "background job" in bash.description


async def test_a_job_returns_at_once_and_is_reported_during_the_run(tmp_path: Path) -> None:
    go, ended = tmp_path / "go", tmp_path / "ended"
    steps = (
        calls("bash", command=f"{waits_for(go)}; echo far", **{"async": True}),
        calls("bash", command=f"touch {go}; {waits_for(ended)}"),
        says("ok"),
    )
    async with extension_session(tmp_path, extension, steps=steps, settings=ON) as hosted:
        # The second command ends when the model's queue has the report.
        hosted.session.subscribe(lambda e: ended.touch() if isinstance(e, QueueUpdate) else None)
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await hosted.session.prompt("go")
        first, [report] = results(hosted)[0], reports(hosted)

    assert text(first) == "The command runs on as job bash-1. You will be notified when it ends."
    assert first.details == {"jobId": "bash-1", "state": "running"}
    assert report.custom_type == "bash_job"
    assert str(report.content).startswith("The job bash-1 has succeeded: until ")
    assert str(report.content).endswith("\n\nfar\n")
    assert report.details == {"jobId": "bash-1", "state": "completed"}


async def test_a_job_that_ends_while_the_agent_is_idle_starts_a_turn(tmp_path: Path) -> None:
    go, settled = tmp_path / "go", asyncio.Event()
    steps = (
        calls("bash", command=f"{waits_for(go)}; exit 3", **{"async": True}),
        says("waiting"),
        says("I see."),
    )
    async with extension_session(
        tmp_path, extension, steps=steps, settings=ON, mode="rpc"
    ) as hosted:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await hosted.session.prompt("go")
            hosted.session.subscribe(
                lambda event: settled.set() if isinstance(event, AgentSettled) else None
            )
            go.touch()
            await settled.wait()
        [report] = reports(hosted)
        last = hosted.session.messages[-1]

    assert report.details == {"jobId": "bash-1", "state": "failed"}
    assert "I see." in str(last)


async def test_print_mode_waits_for_its_jobs(tmp_path: Path) -> None:
    go = tmp_path / "go"
    steps = (
        calls("bash", command=f"{waits_for(go)}; echo far", **{"async": True}),
        says("waiting"),
        says("it is done"),
    )
    async with extension_session(
        tmp_path, extension, steps=steps, settings=ON, mode="print"
    ) as hosted:
        answers: list[str] = []

        def note(event: Any) -> None:
            if isinstance(event, MessageEnd) and "waiting" in str(event.message):
                go.touch()
            answers.append(type(event).__name__)

        hosted.session.subscribe(note)
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await hosted.session.prompt("go")
        [report] = reports(hosted)
        last = str(hosted.session.messages[-1])

    assert report.details == {"jobId": "bash-1", "state": "completed"}
    assert "it is done" in last
    assert answers.count("AgentSettled") == 1


async def test_a_command_that_takes_long_becomes_a_job_and_a_quick_one_does_not(
    tmp_path: Path,
) -> None:
    settings = {**ON, "bash": {"autoBackground": {"enabled": True, "thresholdMs": 300}}}
    steps = (
        calls("bash", command="echo quick"),
        calls("bash", command="echo begun; sleep 600"),
        calls("job", action="list"),
        calls("job", action="cancel", job="bash-1"),
        calls("job", action="read", job="bash-1"),
        says("ok"),
    )
    async with extension_session(
        tmp_path, extension, steps=steps, settings=settings, mode="rpc"
    ) as hosted:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await hosted.session.prompt("go")
        texts = [text(result) for result in results(hosted)]

    note = "The command runs on as job bash-1. You will be notified when it ends."
    assert texts[:2] == ["quick\n", f"begun\n\n\n{note}"]
    assert texts[2] == "bash-1 [running] echo begun; sleep 600"
    assert texts[3] == "Cancelled: bash-1."
    assert texts[4].startswith("bash-1 [cancelled] echo begun; sleep 600\n\nbegun\n")


async def test_the_job_tool_waits_reads_and_names_unknown_jobs(tmp_path: Path) -> None:
    steps = (
        calls("bash", command="sleep 0.2; echo far; exit 2", **{"async": True}),
        calls("job", action="read", job="bash-1"),
        calls("job", action="wait", job="bash-1"),
        calls("job", action="read", job="bash-7"),
        calls("job", action="cancel", job="bash-1"),
        says("ok"),
        says("ok"),
    )
    async with extension_session(tmp_path, extension, steps=steps, settings=ON) as hosted:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await hosted.session.prompt("go")
        job_results = results(hosted)

    # A poll that found nothing new may be left out of later requests.
    assert [result.useless is True for result in job_results] == [False, True, False, False, False]
    texts = [text(result) for result in job_results[1:]]
    assert texts[0] == "[Uneventful result elided]"
    assert texts[1].startswith("bash-1 [failed] sleep 0.2;")
    assert texts[1].endswith("far\n\n\nCommand exited with code 2")
    assert texts[2] == "Unknown job 'bash-7'. Jobs of this session: bash-1."
    assert texts[3] == "It had ended already (failed): bash-1."


async def test_an_abort_ends_a_command_that_is_not_yet_a_job(tmp_path: Path) -> None:
    settings = {**ON, "bash": {"autoBackground": {"enabled": True}}}
    begun = tmp_path / "begun"
    steps = (calls("bash", command=f"echo part; touch {begun}; sleep 600"), says("ok"))
    async with extension_session(tmp_path, extension, steps=steps, settings=settings) as hosted:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            running = asyncio.create_task(hosted.session.prompt("go"))
            await until(begun.exists)
            await hosted.session.abort()
            await running
        [result] = results(hosted)

    assert text(result) == "part\n\n\nCommand aborted"


async def test_a_job_runs_in_its_own_shell(tmp_path: Path) -> None:
    settings = {**ON, "bash": {"extended": True}}
    steps = (
        calls("bash", command="cd /; x=1"),
        calls("bash", command="pwd; echo [$x]; cd /tmp", **{"async": True}),
        calls("job", action="wait", job="bash-1"),
        calls("bash", command="pwd; echo [$x]"),
        says("ok"),
        says("ok"),
    )
    both = (extension, shell_session)
    async with extension_session(tmp_path, *both, steps=steps, settings=settings) as hosted:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await hosted.session.prompt("go")
        texts = [text(result) for result in results(hosted)]

    assert texts[2].endswith("/\n[]\n")
    assert texts[3] == "/\n[1]\n"


async def test_a_job_that_ends_with_its_session_is_not_reported(tmp_path: Path) -> None:
    steps = (calls("bash", command="sleep 600", **{"async": True}), says("ok"))
    async with extension_session(
        tmp_path, extension, steps=steps, settings=ON, mode="rpc"
    ) as hosted:
        await hosted.session.prompt("go")

    assert reports(hosted) == []


async def test_the_command_lists_jobs_where_there_is_no_screen(tmp_path: Path) -> None:
    steps = (calls("bash", command="sleep 600", **{"async": True}), says("ok"))
    ui = FakeUI()
    async with extension_session(tmp_path, extension, steps=steps, settings=ON, ui=ui) as hosted:
        await hosted.session.prompt("/jobs")
        await hosted.session.prompt("go")
        await hosted.session.prompt("/jobs")

    notices = [text for kind, text, *_ in ui.seen if kind == "notify"]
    assert [notice.strip() for notice in notices] == [
        "There are no jobs.",
        "bash-1 [running] sleep 600",
    ]
