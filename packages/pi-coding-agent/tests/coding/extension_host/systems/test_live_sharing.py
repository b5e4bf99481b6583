"""Live sharing: the session as data, prompts with an author, and a remote replica."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from pi.agent.events import AgentSettled
from pi.ai.messages import UserMessage
from pi.ai.providers.faux import says
from pi.extension import ExtensionAPI, Feed, Image, Json, Replica
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session


class Wire:
    """Two ends of a connection, as queues of JSON."""

    def __init__(self) -> None:
        self.to_guest: asyncio.Queue[bytes] = asyncio.Queue()
        self.to_host: asyncio.Queue[Json] = asyncio.Queue()


class Host:
    """The remote session as the guest sees it."""

    capabilities = ("prompt", "abort")

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def prompt(self, text: str, images: Sequence[Image], *, streaming: str | None) -> None:
        self._wire.to_host.put_nowait({"text": text, "author": "Bob"})

    async def abort(self) -> None:
        self._wire.to_host.put_nowait({"abort": True})


def hosting(wire: Wire) -> Any:
    def extension(pi: ExtensionAPI) -> None:
        async def send(feed: Feed) -> None:
            async for item in feed:
                wire.to_guest.put_nowait(msgspec.json.encode(item))

        async def listen() -> None:
            while True:
                request = await wire.to_host.get()
                if "abort" in request:
                    pi.context.abort()
                else:
                    await pi.send_user_message(request["text"], meta={"author": request["author"]})

        @pi.on("session_start")
        def share(event: Any, ctx: Any) -> None:
            pi.scope.spawn(send(pi.feed()), name="send")
            pi.scope.spawn(listen(), name="listen")

    return extension


def joining(wire: Wire) -> Any:
    async def follow(replica: Replica, first: Json) -> None:
        await replica.receive(first)
        while not replica.closed:
            await replica.receive(msgspec.json.decode(await wire.to_guest.get()))

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("join")
        async def join(args: str, ctx: Any) -> None:
            first = msgspec.json.decode(await wire.to_guest.get())
            replica = await ctx.open_replica(first["data"]["header"], Host(wire))

            async def room(scope: Any) -> None:
                scope.spawn(follow(replica, first), name="follow")

            # A connection outlives the session that opened it.
            await pi.shared(("room", id(wire)), room, linger=60)

    return extension


def settling(hosted: ExtensionFixture) -> asyncio.Queue[Any]:
    """Return a queue that gets an event whenever the agent becomes idle."""
    rests: asyncio.Queue[Any] = asyncio.Queue()
    hosted.session.subscribe(
        lambda event: rests.put_nowait(event) if isinstance(event, AgentSettled) else None
    )
    return rests


async def test_a_guest_follows_the_session_and_sends_messages_under_their_own_name(
    tmp_path: Path,
) -> None:
    wire = Wire()
    async with (
        extension_session(
            tmp_path / "host", hosting(wire), steps=(says("hi"), says("hi Bob"))
        ) as host,
        extension_session(tmp_path / "guest", joining(wire)) as guest,
    ):
        rests = settling(guest)
        await guest.session.prompt("/join")
        await host.session.prompt("hello")
        async with asyncio.timeout(30):
            await rests.get()
            await guest.session.prompt("hello from Bob")
            await rests.get()

        assert guest.session.info.entries() == host.session.info.entries()
        messages = [m for m in guest.session.messages if isinstance(m, UserMessage)]
        assert [message.meta for message in messages] == [UNSET, {"author": "Bob"}]
        asked = [
            m for m in host.fixture.provider.requests[1].messages if isinstance(m, UserMessage)
        ]
        assert [message.meta for message in asked] == [UNSET, UNSET]  # not sent to the model
        assert guest.fixture.provider.requests == []
        assert (guest.failures, host.failures) == ([], [])
        await guest.host.close()
        await guest.fixture.clock.advance(61)
