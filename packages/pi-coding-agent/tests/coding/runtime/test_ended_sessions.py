from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from pi.ai.providers.faux import says
from pi.coding.runtime.live import SessionEnded
from pi.coding.runtime.session.agent_session import AgentSession
from pi.coding.session.entries import CustomMessage
from tests.coding.runtime.session_fixture import SessionFixture

ACTIONS: dict[str, Callable[[AgentSession], Awaitable[object]]] = {
    "prompt": lambda session: session.prompt("once more"),
    "prompt of an extension": lambda session: session.send_user_message("once more"),
    "command": lambda session: session.prompt("/todo"),
    "steer": lambda session: session.steer("once more"),
    "follow up": lambda session: session.follow_up("once more"),
    "message": lambda session: session.send_custom_message(
        CustomMessage(custom_type="x", content="once more", timestamp=1)
    ),
    "compact": lambda session: session.compact(),
    "model": lambda session: session.set_thinking_level("high"),
    "new": lambda session: session.new_session(),
    "reload": lambda session: session.sessions.reload(),
}


@pytest.mark.parametrize("action", ACTIONS)
async def test_an_ended_session_refuses_what_it_is_asked_for(tmp_path: Path, action: str) -> None:
    fixture = SessionFixture(tmp_path, says("one"), says("two"))
    session = await fixture.open()
    await session.prompt("hello")
    assert session.session_file is not None
    await session.dispose()
    before = session.session_file.read_bytes()

    with pytest.raises(SessionEnded, match="The session has ended"):
        await ACTIONS[action](session)

    assert session.session_file.read_bytes() == before
    assert len(fixture.provider.requests) == 1


async def test_an_ended_session_never_writes_into_the_file_of_its_successor(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("one"), says("two"))
    first = await fixture.open()
    await first.prompt("hello")
    log = first.entries.log
    assert log.file is not None
    await first.dispose()
    before = log.file.read_bytes()

    await first.info.rename("late")

    assert log.file.read_bytes() == before
