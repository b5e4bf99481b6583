from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.port.remote import Remote, Replica
from tests.coding.extension_host.stage import playing
from tests.coding.runtime.test_remote_session import FakeRemote

HEADER = {"id": "far-away", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/somewhere"}


async def test_a_command_joins_a_session_and_another_one_leaves_it(tmp_path: Path) -> None:
    replicas: list[Replica | None] = []
    remote: Remote = FakeRemote()

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("join")
        async def join(args: str, ctx: Any) -> None:
            replicas.append(await ctx.open_replica(HEADER, remote))

        @pi.command("leave")
        async def leave(args: str, ctx: Any) -> None:
            await ctx.new_session()

    async with playing(tmp_path, extension) as play:
        await play.session.prompt("/join")
        joined = play.session.session_id
        await play.session.prompt("/leave")

        assert joined == "far-away"
        assert play.session.session_id != "far-away"
        assert [replica.closed for replica in replicas if replica] == [True]
        assert play.failures == []
