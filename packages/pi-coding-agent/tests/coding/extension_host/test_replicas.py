from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.port.remote import Remote, Replica
from pi.coding.runtime.live import RemoteSessionError
from pi.coding.session.errors import SessionProblem
from tests.coding.extension_host.extension_session import extension_session
from tests.coding.runtime.test_remote_session import FakeRemote

HEADER = {"id": "far-away", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/somewhere"}


async def test_commands_can_open_and_leave_a_replica(tmp_path: Path) -> None:
    replicas: list[Replica | None] = []
    remote: Remote = FakeRemote()

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("join")
        async def join(args: str, ctx: Any) -> None:
            replicas.append(await ctx.open_replica(HEADER, remote))

        @pi.command("leave")
        async def leave(args: str, ctx: Any) -> None:
            await ctx.new_session()

    async with extension_session(tmp_path, extension) as hosted:
        await hosted.session.prompt("/join")
        joined = hosted.session.session_id
        await hosted.session.prompt("/leave")

        assert joined == "far-away"
        assert hosted.session.session_id != "far-away"
        assert [replica.closed for replica in replicas if replica] == [True]
        assert hosted.failures == []


def entry(id: str, text: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": text, "timestamp": 1} | more
    stamp = "2026-01-01T00:00:00.000Z"
    return {
        "type": "message",
        "id": id,
        "parentId": parent,
        "timestamp": stamp,
        "message": message,
        "unknown": [1],
    }


async def joined(hosted: Any, file: Path, *items: dict[str, Any]) -> Replica | None:
    replica: Replica | None = await hosted.session.sessions.open_replica(
        HEADER, FakeRemote(), file=file
    )
    if replica is not None:
        for item in items:
            await replica.receive(item)
    return replica


async def test_a_replica_stores_entries_in_its_file_and_continues_it_when_reopened(
    tmp_path: Path,
) -> None:
    file = tmp_path / "collab" / "room.jsonl"
    first, second, third = entry("a1", "one"), entry("a2", "two", "a1"), entry("a3", "three", "a2")
    async with extension_session(tmp_path) as hosted:
        snapshot = {"entries": [first], "leafId": "a1"}
        await joined(
            hosted, file, {"kind": "snapshot", "data": snapshot}, {"kind": "entry", "data": second}
        )
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        await hosted.session.sessions.new()
        again = {"entries": [first, second, third], "leafId": "a3"}
        await joined(hosted, file, {"kind": "snapshot", "data": again})

        assert (lines[0]["id"], lines[0]["cwd"]) == ("far-away", "/somewhere")
        assert lines[1:] == [first, second]  # with unknown fields
        assert len(file.read_text().splitlines()) == 4
        assert hosted.session.entries.log.file == file
        assert file.stat().st_mode & 0o777 == 0o600

        # It is a session like any other afterwards: it can be exported and resumed.
        await hosted.session.sessions.new()
        await hosted.session.sessions.switch(file)
        contents = [getattr(message, "content", "") for message in hosted.session.messages]
        assert contents == ["one", "two", "three"]


async def test_a_file_of_another_session_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    file = tmp_path / "room.jsonl"
    file.write_text('{"type":"session","version":3,"id":"other","timestamp":"","cwd":"/x"}\n')
    async with extension_session(tmp_path) as hosted:
        before = hosted.session.session_id
        with pytest.raises(SessionProblem, match="holds the session other, not far-away"):
            await joined(hosted, file)

        assert hosted.session.session_id == before
        assert file.read_text().count("\n") == 1


async def test_an_entry_that_is_not_one_line_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "room.jsonl"
    async with extension_session(tmp_path) as hosted:
        replica = await joined(hosted, file)
        assert replica is not None
        torn = json.dumps(entry("a1", "one"), indent=1).encode()
        with pytest.raises(SessionProblem, match="Invalid session entry"):
            await replica.receive({"kind": "entry", "data": torn})

        assert not file.exists()


async def test_tools_cannot_be_called_in_a_replica(tmp_path: Path) -> None:
    async with extension_session(tmp_path) as hosted:
        await joined(hosted, tmp_path / "room.jsonl")
        with pytest.raises(RemoteSessionError, match="Cannot call a tool"):
            await hosted.session.tools.call("read", {"path": "a"}, caller="test")
