"""Shell commands of the user."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.agent.events import ToolExecutionStart
from pi.base.errors import PiError
from pi.coding.extension_host.events.answers import UserBashAnswer
from pi.coding.extension_host.events.queries import UserBashEvent
from pi.coding.shell.local import BashResult
from pi.testing import calls, says
from tests.coding.runtime.session_fixture import SessionFixture, kinds


async def test_a_command_is_part_of_the_conversation_unless_it_is_excluded(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("saw it"))
    session = await fixture.open()
    received: list[str] = []
    result = await session.shell.run("echo one; exit 3", on_text=received.append)
    await session.shell.run("echo secret", exclude_from_context=True)
    await session.prompts.prompt("well?")
    await session.close()

    assert (result.output, result.exit_code, "".join(received)) == ("one\n", 3, "one\n")
    messages = str(fixture.provider.requests[0].messages)
    assert "Ran `echo one; exit 3`" in messages
    assert "secret" not in messages


async def test_a_command_during_a_run_is_recorded_after_the_messages_of_the_run(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, calls("bash", command="sleep 0.3"), says("done"))
    session = await fixture.open()
    started = fixture.seen(session, ToolExecutionStart)
    run = asyncio.create_task(session.prompts.prompt("go"))
    await started.wait()
    await session.shell.run("echo meanwhile")
    assert "bashExecution" not in kinds(session)
    await run
    await session.close()

    assert kinds(session)[-1] == "bashExecution"


@pytest.mark.behaviour("escape-stops-user-commands")
async def test_stop_cancels_all_running_commands(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    begun: asyncio.Queue[str] = asyncio.Queue()
    both = [
        asyncio.create_task(session.shell.run("echo go; sleep 60", on_text=begun.put_nowait))
        for _ in range(2)
    ]
    for _ in both:
        await begun.get()
    session.shell.stop()
    results = await asyncio.gather(*both)
    await session.close()

    assert [result.cancelled for result in results] == [True, True]


@pytest.mark.behaviour("rpc-uses-the-same-hooks")
async def test_a_handler_may_replace_or_forbid_the_command(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    end = fixture.bus.subscribe(
        UserBashEvent,
        lambda question: UserBashAnswer(result=BashResult(output="from afar", exit_code=0)),
    )
    assert (await session.shell.run("ls")).output == "from afar"
    end()

    def guard(question: UserBashEvent) -> None:
        raise PiError("not here")

    fixture.bus.subscribe(UserBashEvent, guard)
    with pytest.raises(PiError, match="not here"):
        await session.shell.run("ls")
    await session.close()
