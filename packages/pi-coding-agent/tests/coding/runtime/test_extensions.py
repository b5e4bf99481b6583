from __future__ import annotations

import asyncio
from pathlib import Path

from pi.ai.providers.faux import says
from tests.coding.extension_host.extension_session import recorded_data
from tests.coding.runtime.session_fixture import SessionFixture

EXTENSION = """
def extension(pi):
    @pi.on("session_start")
    async def started(event, ctx):
        await pi.append_entry("recorded", event.reason)

    @pi.on("session_switch")
    async def switched(event, ctx):
        await pi.append_entry("recorded", "switch")

    @pi.command("bye")
    def bye(args, ctx):
        ctx.shutdown()
"""


async def test_an_extension_added_before_a_reload_gets_events_and_commands(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("ok"))
    session = await fixture.open()
    leaving = asyncio.ensure_future(session.extensions.shutdown_requested.wait())
    try:
        await session.start()
        assert (session.extensions.infos(), session.extensions.find("/bye")) == ((), None)
        fixture.write(".pi/agent/extensions/late.py", EXTENSION)

        await session.sessions.reload()
        await session.prompt("hi")
        assert session.extensions.find("/bye") == "bye"
        await session.prompt("/bye")
        async with asyncio.timeout(30):
            await leaving

        assert recorded_data(session) == ["reload"]
    finally:
        leaving.cancel()
        await session.close()


async def test_an_extension_added_before_a_new_session_is_loaded_in_it(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    try:
        await session.start()
        fixture.write(".pi/agent/extensions/late.py", EXTENSION)

        await session.sessions.new()

        assert recorded_data(session) == ["switch", "new"]
    finally:
        await session.close()
