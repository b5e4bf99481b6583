"""Loading of deferred extensions: late, once, again after a cancellation, or never."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from pi.ai.messages import AssistantMessage
from pi.ai.providers.faux import says
from pi.coding.extension_host.loading.modules import module_name
from pi.coding.runtime.session.agent_session import AgentSession
from tests.coding.extension_host.deferred import STARTED, kit, sent_texts
from tests.coding.runtime.session_fixture import SessionFixture


async def test_a_late_extension_keeps_its_place_in_load_order(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("ok"))
    for name in ("a", "b"):
        code = f"""\
# /// pi
# activate = ["command:{name}"]
# ///
def extension(pi):
    @pi.command("{name}")
    def run(args, ctx): ...

    @pi.on("input")
    def mark(event, ctx):
        return {{"action": "transform", "text": event.text + "{name}"}}
"""
        fixture.write(f".pi/agent/extensions/{name}.py", code)
    session = await fixture.open()

    await session.prompt("/b")
    await session.prompt("/a")
    await session.prompt("said by ")

    assert fixture.provider.requests[0].messages[-1].content[0].text == "said by ab"  # type: ignore[union-attr]
    await session.close()


async def test_two_concurrent_uses_load_an_extension_once(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    body = """\
import asyncio
async def begin():
    pi.command("hi")(hi)
    await asyncio.sleep(0)
async def hi(args, ctx):
    await pi.send_message({"custom_type": "hi", "content": f"{args} of {id(pi)}"})
return begin()
"""
    kit(fixture, 'activate = ["command:hi"]', body)
    session = await fixture.open()
    await session.start()

    await asyncio.gather(session.prompt("/hi one"), session.prompt("/hi two"))

    first, second = sorted(sent_texts(session))
    assert first.removeprefix("one") == second.removeprefix("two")
    await session.close()


HANGS_ONCE = """\
# /// pi
# activate = ["command:hi"]
# ///
import asyncio

TRIES = []

async def extension(pi):
    TRIES.append(1)
    if len(TRIES) == 1:
        await asyncio.Event().wait()

    @pi.command("hi")
    async def hi(args, ctx):
        await pi.send_message({"custom_type": "hi", "content": args})
"""


async def hanging(
    fixture: SessionFixture,
) -> tuple[AgentSession, asyncio.Future[AssistantMessage | None]]:
    """A session, and a first use of an extension that is not yet loaded."""
    path = fixture.write(".pi/agent/extensions/hangs.py", HANGS_ONCE)
    session = await fixture.open()
    await session.start()
    first = asyncio.ensure_future(session.prompt("/hi one"))
    while module_name(path) not in sys.modules:  # noqa: ASYNC110 (imports emit no event)
        await asyncio.sleep(0)
    return session, first


async def test_a_cancelled_first_use_leaves_the_extension_deferred(tmp_path: Path) -> None:
    session, given_up = await hanging(SessionFixture(tmp_path))
    given_up.cancel()
    await asyncio.wait({given_up})
    await session.prompt("/hi two")

    assert sent_texts(session) == ["two"]
    await session.close()


async def test_a_first_use_that_outlives_its_session_can_be_cancelled(tmp_path: Path) -> None:
    session, given_up = await hanging(SessionFixture(tmp_path))
    await session.close()
    given_up.cancel()
    await asyncio.wait({given_up})

    assert given_up.cancelled()


async def test_an_entry_of_a_resumed_session_loads_its_extension(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("one"))
    body = f"""\
@pi.command("mark")
async def mark(args, ctx):
    await pi.append_entry("marked", {{"by": args}})
{STARTED}"""
    kit(fixture, 'activate = ["command:mark", "entry:marked"]', body)
    first = await fixture.open()
    await first.start()
    await first.prompt("/mark me")
    await first.prompt("hello")
    file = first.entries.log.file
    assert file is not None
    await first.close()

    session = await fixture.open()
    await session.start()
    assert [info.state for info in session.extensions.infos()] == ["waiting"]

    await session.sessions.switch(file)
    assert [info.state for info in session.extensions.infos()] == ["loaded"]
    assert sent_texts(session)[-1] == "resume"

    await session.sessions.new()
    assert [info.state for info in session.extensions.infos()] == ["waiting"]
    await session.close()
