"""Manual compaction."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pi.agent.compaction.errors import CompactionFailed
from pi.base.errors import PiError
from pi.coding.compaction.events import CompactionStart
from pi.testing import says
from tests.ai.http.raw_server import Peer, ok, raw_server
from tests.coding.runtime.session_fixture import SessionFixture, kinds


async def test_a_compaction_is_stored_and_the_context_usage_is_unknown_afterwards(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(
        tmp_path, says("a"), says("b"), says("Notes."), says("Notes."), says("c")
    )
    fixture.write(".pi/agent/settings.json", '{"compaction": {"keepRecentTokens": 10}}')
    session = await fixture.open()
    await session.prompts.prompt("word " * 4000)
    await session.prompts.prompt("word " * 4000)
    result = await session.compaction.compact("be brief")

    assert result.summary.startswith("Notes.")
    assert kinds(session)[-1] == "compaction"
    usage = session.info.context_usage()
    assert usage is not None
    assert usage.tokens is None
    assert len(session.compaction.dropped()) > 0
    await session.close()


async def test_compacting_an_empty_session_raises_an_error_and_emits_start_and_end(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    with pytest.raises(CompactionFailed, match="Nothing to compact"):
        await session.compaction.compact()

    assert fixture.order == ["compaction_start", "compaction_end"]
    await session.close()


async def test_automatic_compaction_can_be_disabled_for_one_session(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    session.settings.override({"compaction.enabled": False})

    assert not session.compaction.automatic
    assert not session.info.state().auto_compaction_enabled
    assert not (fixture.agent_dir / "settings.json").exists()
    await session.close()


@pytest.mark.behaviour("typed-meanwhile-is-delivered")
async def test_queued_messages_are_delivered_after_a_failed_compaction(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("answered"))
    session = await fixture.open()
    await session.prompts.steer("while you compact")
    with pytest.raises(CompactionFailed):
        await session.compaction.compact()

    assert [point.text for point in session.info.fork_points()] == ["while you compact"]
    assert session.info.last_answer() == "answered"
    await session.close()


@pytest.mark.behaviour("escape-stops-compaction")
async def test_a_prompt_sent_during_a_compaction_starts_its_run_afterwards(tmp_path: Path) -> None:
    fixture = SessionFixture(
        tmp_path, says("a"), says("b"), says("Notes."), says("Notes."), says("c")
    )
    fixture.write(".pi/agent/settings.json", '{"compaction": {"keepRecentTokens": 10}}')
    session = await fixture.open()
    await session.prompts.prompt("word " * 4000)
    await session.prompts.prompt("word " * 4000)
    prompts: list[asyncio.Task[Any]] = []

    def speak(event: object) -> None:
        if isinstance(event, CompactionStart):
            prompts.append(asyncio.ensure_future(session.prompts.prompt("meanwhile")))

    session.subscribe(speak)
    fixture.events.clear()
    await session.compaction.compact()
    await asyncio.gather(*prompts)

    assert fixture.order[:3] == ["compaction_start", "compaction_end", "agent_start"]
    assert session.info.last_answer() == "c"
    await session.close()


async def test_a_prompt_that_waits_for_a_compaction_is_rejected_after_an_abort(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"), says("Notes."))
    fixture.write(".pi/agent/settings.json", '{"compaction": {"keepRecentTokens": 10}}')
    session = await fixture.open()
    await session.prompts.prompt("word " * 4000)
    await session.prompts.prompt("word " * 4000)
    prompts: list[asyncio.Task[Any]] = []

    async def speak_and_abort(event: object) -> None:
        if isinstance(event, CompactionStart):
            prompts.append(asyncio.ensure_future(session.prompts.prompt("meanwhile")))
            for _ in range(10):  # until the prompt waits
                await asyncio.sleep(0)
            await session.abort()

    session.subscribe(speak_and_abort)
    with pytest.raises(CompactionFailed, match="cancelled"):
        await session.compaction.compact()
    with pytest.raises(PiError, match="aborted before its run began"):
        await prompts[0]

    assert [point.text[:4] for point in session.info.fork_points()] == ["word", "word"]
    await session.close()


MINE = """\
from pi.extension import Declined


class Mine:
    async def compact(self, work):
        return Declined(why="never")


def extension(pi):
    pi.add_compaction("mine", Mine())
"""


async def test_an_unknown_strategy_is_reported_once(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write(".pi/agent/settings.json", '{"compaction": {"strategy": "shaek"}}')
    session = await fixture.open()
    await session.start()
    await session.sessions.new()
    await session.close()

    assert fixture.reports == [
        'Warning: Unknown compaction.strategy "shaek": context-full is used.'
        " Known strategies: context-full, shake, off"
    ]


async def test_a_strategy_of_an_extension_is_not_reported_as_unknown(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write(".pi/agent/extensions/mine.py", MINE)
    fixture.write(".pi/agent/settings.json", '{"compaction": {"strategy": "mine"}}')
    session = await fixture.open()
    await session.start()
    await session.close()

    assert fixture.reports == []


async def test_remote_compaction_sends_no_secrets_and_ignores_the_endpoint_of_a_project(
    tmp_path: Path,
) -> None:
    key = "sk-" + "k3y" * 9
    bodies: list[str] = []

    async def script(peer: Peer) -> None:
        with suppress(asyncio.IncompleteReadError):  # until the client disconnects
            while True:
                request = await peer.request()
                bodies.append(request.partition(b"\r\n\r\n")[2].decode())
                await peer.send(ok(b'{"summary": "written by the server"}'))

    fixture = SessionFixture(tmp_path, *(says("w" * 6000) for _ in range(3)))
    fixture.write("project/.pi/settings.json", '{"compaction": {"remoteEndpoint": "http://x/"}}')
    async with raw_server(script) as listening:
        compaction = {
            "remoteEnabled": True,
            "remoteEndpoint": listening.url,
            "keepRecentTokens": 500,
        }
        fixture.write(".pi/agent/settings.json", json.dumps({"compaction": compaction}))
        session = await fixture.open(approve=True)
        for text in (f"the key is {key}", "two", "three"):
            await session.prompt(text)
        result = await session.compact()
        await session.close()

    assert "written by the server" in result.summary
    assert "the key is" in bodies[0]
    assert key not in bodies[0]
