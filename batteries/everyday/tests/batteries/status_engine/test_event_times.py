"""The timestamps that the specification requires for every event in JSON and RPC mode."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from pi.agent.events import AgentSettled
from pi.ai.errors import ProviderUnavailable
from pi.coding.runtime.session.agent_session import AgentSession
from pi.coding.session.entries import BashExecution
from pi.modes.headless import PromptInput, run_json
from pi.modes.rpc.server import RpcServer
from pi.testing import calls, says, thinks
from tests.base.processes.children import passing_of
from tests.coding.runtime.session_fixture import SessionFixture
from tests.modes.pipes import piped

SCRIPT = (
    thinks("Let me see."),
    calls("bash", command="echo one"),
    ProviderUnavailable("overloaded"),
    says("a few words"),
    says("and some more"),
)
SECONDS = 60.0


@asynccontextmanager
async def passing(fixture: SessionFixture) -> AsyncIterator[None]:
    """Time passes, a few milliseconds at a time."""

    async def pass_on() -> None:
        while True:
            await fixture.clock.advance(0.007)
            await asyncio.sleep(0)

    time = asyncio.create_task(pass_on())
    try:
        yield
    finally:
        time.cancel()


def times(events: list[dict[str, Any]]) -> list[int]:
    """The time of each event; every event must have one."""
    assert [event["type"] for event in events if "since_session_ms" not in event] == []
    return [event["since_session_ms"] for event in events]


def never_go_back(times: list[int]) -> bool:
    return all(before <= after for before, after in pairwise(times))


async def test_every_event_of_json_mode_has_a_time(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, *SCRIPT)
    session = await fixture.open()
    async with piped() as reader, asyncio.timeout(SECONDS), passing(fixture):
        await run_json(
            session, [PromptInput(text="a"), PromptInput(text="b")], reader.output, print
        )
        _header, *events = await reader.records()
    await session.close()

    seen = times(events)
    kinds = {event["type"] for event in events}
    assert {"auto_retry_start", "tool_execution_update", "message_update"} <= kinds
    assert never_go_back(seen)
    assert seen[-1] > seen[0]


class Client:
    """Sends requests to a server of RPC mode."""

    def __init__(self) -> None:
        self._requests: asyncio.Queue[bytes] = asyncio.Queue()

    def send(self, **request: Any) -> None:
        self._requests.put_nowait(json.dumps(request).encode() + b"\n")

    def hang_up(self) -> None:
        self._requests.put_nowait(b"")

    async def chunks(self) -> AsyncIterator[bytes]:
        while chunk := await self._requests.get():
            yield chunk


async def events_over_rpc(
    session: AgentSession, drive: Callable[[Client], Awaitable[None]]
) -> list[dict[str, Any]]:
    """All events, without the responses, after ``drive`` has sent its requests."""
    client = Client()
    async with piped() as reader, asyncio.timeout(SECONDS):
        server = asyncio.create_task(RpcServer(session, reader.output).run(client.chunks()))
        await drive(client)
        client.hang_up()
        await server
        return [record for record in await reader.records() if record["type"] != "response"]


async def test_every_event_of_rpc_mode_has_a_timestamp_that_restarts_with_a_new_session(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("Hello."))
    session = await fixture.open()
    settled = fixture.seen(session, AgentSettled)

    async def drive(client: Client) -> None:
        client.send(type="prompt", message="hi")
        await settled.wait()
        await fixture.clock.advance(5)
        client.send(type="set_session_name", name="one")
        client.send(type="new_session")
        client.send(type="set_session_name", name="another")

    events = await events_over_rpc(session, drive)
    await session.close()

    *run, one, another = times(events)
    assert events[-3]["type"] == "agent_settled"
    assert (set(run), one, another) == ({0}, 5000, 0)


async def test_the_output_of_a_user_command_has_a_time(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    await fixture.clock.advance(3)

    async def drive(client: Client) -> None:
        client.send(type="bash", command="echo two")
        # End of input would end the command, whose end has no event.
        while not any(isinstance(message, BashExecution) for message in session.info.messages()):
            await passing_of(0.01)

    events = await events_over_rpc(session, drive)
    await session.close()

    assert [event["type"] for event in events] == ["bash_execution_update"]
    assert times(events) == [3000]
