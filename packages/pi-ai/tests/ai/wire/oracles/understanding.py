"""A decoded response in one record, for our wires and the vendors' SDKs."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pi.ai.messages import Json, Thinking
from pi.base.records import Record
from tests.ai.http.raw_server import Peer, raw_server
from tests.ai.wire.conformance import recording
from tests.ai.wire.exchanges import exchange
from tests.ai.wire.replay_server import Replay

CASES = ("text", "thinking", "tool_call", "parallel_tools", "usage_cache", "length", "unicode")
"""The recordings that an SDK can read: complete answers, not broken ones."""

every_case = pytest.mark.parametrize("case", CASES)


class ReadCall(Record):
    """A tool call."""

    id: str
    name: str
    arguments: Json


class Understood(Record):
    """One answer. Counts are as in ``pi.ai.messages.Usage``; counts that are not reported are 0."""

    text: str = ""
    thinking: str = ""
    calls: tuple[ReadCall, ...] = ()
    input: int
    output: int
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    stop: str


async def ours(api: str, case: str) -> Understood:
    """Decode the recording with our wire."""
    message = (await exchange(api, Replay([recording(api, case)]))).message
    usage = message.usage
    return Understood(
        text=message.text,
        thinking="".join(part.thinking for part in message.content if isinstance(part, Thinking)),
        calls=tuple(
            ReadCall(id=call.id, name=call.name, arguments=call.arguments)
            for call in message.tool_calls
        ),
        input=usage.input,
        output=usage.output,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        reasoning=usage.reasoning or 0,
        stop=message.stop_reason,
    )


@asynccontextmanager
async def replayed(api: str, case: str) -> AsyncIterator[str]:
    """The address of a server that answers every request with the recording."""

    async def script(peer: Peer) -> None:
        head = await peer.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)\r\n", head)
        assert length is not None
        await peer.reader.readexactly(int(length[1]))
        await peer.send(recording(api, case))
        await peer.hang_up()

    async with raw_server(script) as server:
        yield server.url.rstrip("/")
