"""The model is emitted of commands that ran on."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pi.agent.events import MessageEnd, QueueUpdate
from pi.coding.session.entries import CustomMessage
from pi.testing import calls, says
from tests.coding.runtime.stage import Stage

TIMEOUT_SECONDS = 60.0
EXTENDED = '{"bash": {"extended": true}, "async": {"enabled": true}}'


async def test_a_job_that_ends_during_a_run_is_reported_to_the_model(tmp_path: Path) -> None:
    go, ended = tmp_path / "go", tmp_path / "ended"
    stage = Stage(
        tmp_path,
        calls(
            "bash",
            **{"command": f"until [ -e {go} ]; do sleep 0.02; done; echo far", "async": True},
        ),
        calls("bash", command=f"touch {go}; until [ -e {ended} ]; do sleep 0.02; done"),
        says("ok"),
    )
    stage.write(".pi/agent/settings.json", EXTENDED)
    session = await stage.open()
    # The second command ends when the model's queue has the report.
    session.subscribe(lambda event: ended.touch() if isinstance(event, QueueUpdate) else None)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        await session.prompts.prompt("go")
    [report] = [m for m in session.facts.messages() if isinstance(m, CustomMessage)]
    await session.close()

    assert report.custom_type == "bash_job"
    assert str(report.content).startswith("The job bash-1 has succeeded: until ")
    assert str(report.content).endswith("\n\nfar\n")
    assert report.details == {"jobId": "bash-1", "state": "completed"}
    assert "The job bash-1 has succeeded" in str(stage.provider.requests[-1].messages)


async def test_at_rest_the_end_of_a_job_waits_in_the_conversation(tmp_path: Path) -> None:
    go, emitted = tmp_path / "go", asyncio.Event()
    command = f"until [ -e {go} ]; do sleep 0.02; done; exit 3"
    stage = Stage(tmp_path, calls("bash", **{"command": command, "async": True}), says("ok"))
    stage.write(".pi/agent/settings.json", EXTENDED)
    session = await stage.open()
    async with asyncio.timeout(TIMEOUT_SECONDS):
        await session.prompts.prompt("go")
        session.subscribe(lambda event: emitted.set() if isinstance(event, MessageEnd) else None)
        go.touch()
        await emitted.wait()
    last = session.facts.messages()[-1]
    await session.close()

    assert isinstance(last, CustomMessage)
    assert last.content == f"The job bash-1 has failed: {command}"
    assert last.details == {"jobId": "bash-1", "state": "failed"}


async def test_a_job_that_ends_with_its_session_is_not_reported(tmp_path: Path) -> None:
    stage = Stage(tmp_path, calls("bash", **{"command": "sleep 600", "async": True}), says("ok"))
    stage.write(".pi/agent/settings.json", EXTENDED)
    session = await stage.open()
    await session.prompts.prompt("go")
    await session.close()

    assert [m for m in session.facts.messages() if isinstance(m, CustomMessage)] == []
